"""Rules about rotary position embeddings."""
