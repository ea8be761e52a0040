"""Evaluates an engine's own source: configuration classes and the checks built on them.

What transformers and SGLang make of a `config.json` is written in some six hundred small Python
functions that change with every release. This package reads those functions as text and evaluates
them itself: no module is imported, nothing is executed, no file is touched. A syntax node is
compiled once a process, to a function of this package; what is not understood becomes an `Opaque`
value, which is how a prediction says "unknown".
"""
