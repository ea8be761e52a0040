"""Preflight validator for speculative-decoding launches."""
