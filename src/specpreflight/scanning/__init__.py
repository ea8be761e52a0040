"""Check every launch that a tree of checkpoints and launch files calls for."""
