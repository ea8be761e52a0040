"""The speculative hook of SGLang's argument handling, one file per family of algorithms."""
