"""Rules about the files of a checkpoint."""
