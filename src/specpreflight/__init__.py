"""Preflight validator for speculative-decoding launches."""

__version__ = "0.1.0"
