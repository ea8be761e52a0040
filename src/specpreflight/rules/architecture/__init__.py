"""Rules about what the two models are and whether they fit each other."""
