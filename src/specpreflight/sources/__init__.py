"""Sources: everything that is read from outside, once."""
