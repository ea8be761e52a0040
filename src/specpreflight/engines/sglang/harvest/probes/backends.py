"""Probes of the attention backends that an EAGLE draft can run on.

Up to 0.5.1 `eagle_worker.py:init_attention_backend` compares names one by one; then a table per
step, in the worker and, from 0.5.3.post2, in `draft_utils.py:DraftBackendFactory`.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from specpreflight.engines.sglang.harvest.probes.shapes import (
    Answer,
    function_at,
    ifs,
    mentions,
    source,
)
from specpreflight.engines.sglang.harvest.source_tree import Module, SourceTree

_DRAFT_UTILITIES = "srt/speculative/draft_utils.py"
_WORKER = "srt/speculative/eagle_worker.py"
_DECODE = "EAGLE is not supported in decode attention backend"
_EXTEND = "EAGLE is not supported in attention backend"


def draft_decode(tree: SourceTree) -> Answer | None:
    """Return the backends on which an EAGLE draft can decode several steps."""
    return _table(tree, _DECODE) or _compared(tree)


def draft_extend(tree: SourceTree) -> Answer | None:
    """Return the backends on which an EAGLE draft can extend after a verification."""
    return _table(tree, _EXTEND) or _compared(tree)


def one_step_needs_no_decode(tree: SourceTree) -> Answer | None:
    """Say whether a draft with a single step needs no decode backend at all."""
    found = function_at(
        tree,
        (_DRAFT_UTILITIES, ("DraftBackendFactory", "create_decode_backend")),
        (_WORKER, ("EAGLEWorker", "_create_decode_backend")),
        (_WORKER, ("EAGLEWorker", "init_attention_backend")),
    )
    if found is None:
        return None
    _, function, where = found
    skips = any(
        isinstance(statement, ast.If)
        and mentions(statement.test, "speculative_num_steps")
        and isinstance(statement.body[0], ast.Return)
        for statement in function.body
    )
    return Answer(skips, where)


def _table(tree: SourceTree, message: str) -> Answer | None:
    for module, function in _functions(tree):
        if not any(
            isinstance(node, ast.Constant) and str(node.value).startswith(message)
            for node in ast.walk(function)
        ):
            continue
        for node in ast.walk(function):
            if isinstance(node, ast.Dict):
                names = [key.value for key in node.keys if isinstance(key, ast.Constant)]
                return Answer(tuple(sorted(map(str, names))), source(module, function.name))
    return None


def _compared(tree: SourceTree) -> Answer | None:
    found = function_at(tree, (_WORKER, ("EAGLEWorker", "init_attention_backend")))
    if found is None:
        return None
    _, function, where = found
    names = {
        str(node.comparators[0].value)
        for statement in ifs(function)
        for node in ast.walk(statement.test)
        if isinstance(node, ast.Compare)
        and mentions(node.left, "attention_backend")
        and isinstance(node.comparators[0], ast.Constant)
    }
    return Answer(tuple(sorted(names)), where) if names else None


def _functions(tree: SourceTree) -> Iterator[tuple[Module, ast.FunctionDef]]:
    for file in (_DRAFT_UTILITIES, _WORKER):
        module = tree.at(file)
        if module is not None:
            for node in ast.walk(module.tree):
                if isinstance(node, ast.FunctionDef):
                    yield module, node
