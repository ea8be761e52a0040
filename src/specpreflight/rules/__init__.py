"""Rules: one check a file; `registry.py` lists them all."""
