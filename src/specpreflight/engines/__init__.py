"""Engines: what a release of SGLang (or another server) does with a launch."""
