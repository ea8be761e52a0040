"""Rules about flags, variables and paths of a launch."""
