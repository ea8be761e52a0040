"""Rules about context lengths."""
