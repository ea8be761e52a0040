"""Compiles syntax nodes: the table of who compiles which, and each node's code, made once."""

from __future__ import annotations

import ast
from collections.abc import Callable
from functools import cache
from typing import Any, Final

from specpreflight.engines.source.values import Code, Opaque

#: Who compiles which kind of expression; `expressions.py` fills it.
COMPILERS: Final[dict[type[ast.expr], Callable[[Any], Code]]] = {}


@cache
def code_of(node: ast.expr) -> Code:
    """Return what computes an expression; unknown where its kind is not understood."""
    compile_node = COMPILERS.get(type(node))
    return _unknown(node) if compile_node is None else compile_node(node)


def _unknown(node: ast.expr) -> Code:
    value = Opaque(ast.unparse(node))
    return lambda evaluator, frame: value


def is_fixed(node: ast.expr) -> bool:
    """Return whether a list, tuple or set is written in constants."""
    return isinstance(node, (ast.List, ast.Tuple, ast.Set)) and all(
        type(item) is ast.Constant for item in node.elts
    )
