"""Fixes: everything that is written, planned and checked before it is."""
