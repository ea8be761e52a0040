"""Rules about the NCCL environment."""
