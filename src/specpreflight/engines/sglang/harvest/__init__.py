"""What a tree of SGLang says about itself, read with `ast` only: nothing is ever imported.

`read_engine(tree)` gives the facts of one tree, in the form in which the data tables keep them.
The same code reads the released wheels (`tools/harvest.py`) and a user's own checkout
(`--engine PATH`).
"""
