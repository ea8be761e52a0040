"""Compiles comparisons: common kinds of operands take a short way."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Any, Final

from specpreflight.engines.source.codes import code_of, is_fixed
from specpreflight.engines.source.operations import COMPARE
from specpreflight.engines.source.values import Code, Frame, Opaque

if TYPE_CHECKING:
    from specpreflight.engines.source.evaluator import Evaluator

#: Values that Python compares by itself, with nothing unknown in them.
_SIMPLE: Final[frozenset[type]] = frozenset({int, str, bool, float, type(None)})
_NUMBERS: Final[frozenset[type]] = frozenset({int, float})

#: Containers that look for an item by its hash, whatever else they hold.
_HASHED: Final[frozenset[type]] = frozenset({dict, set, frozenset})

_SEQUENCES: Final[frozenset[type]] = frozenset({list, tuple})

_IDENTITY: Final = (ast.Is, ast.IsNot)
_ORDER: Final = (ast.Lt, ast.LtE, ast.Gt, ast.GtE)
_MEMBERSHIP: Final = (ast.In, ast.NotIn)


def compile_comparison(node: ast.Compare) -> Code:
    """Return what computes a comparison, or a chain of them."""
    if len(node.ops) == 1:
        return _compare_two(type(node.ops[0]), code_of(node.left), node.comparators[0])
    left = code_of(node.left)
    others = [
        (type(operation), code_of(comparator))
        for operation, comparator in zip(node.ops, node.comparators, strict=True)
    ]

    def compare(evaluator: Evaluator, frame: Frame) -> Any:
        before, result = left(evaluator, frame), True
        for operation, other in others:
            value = other(evaluator, frame)
            result = evaluator.compare(operation, before, value)
            if isinstance(result, Opaque) or not result:
                return result
            before = value
        return result

    return compare


def _compare_two(operation: type[ast.cmpop], left: Code, comparator: ast.expr) -> Code:
    if operation in _ORDER:
        return _compare_simple(operation, left, code_of(comparator), _NUMBERS)
    if operation in _MEMBERSHIP:
        return _find(operation, left, comparator)
    if operation in _IDENTITY and isinstance(comparator, ast.Constant):
        return _is(operation, left, comparator.value)
    return _compare_simple(operation, left, code_of(comparator), _SIMPLE)


def _compare_simple(
    operation: type[ast.cmpop], left: Code, right: Code, simple: frozenset[type]
) -> Code:
    function = COMPARE[operation]

    def compare(evaluator: Evaluator, frame: Frame) -> Any:
        one, other = left(evaluator, frame), right(evaluator, frame)
        if type(one) in simple and type(other) in simple:
            return function(one, other)
        return evaluator.compare(operation, one, other)

    return compare


def _is(operation: type[ast.cmpop], left: Code, fixed: Any) -> Code:
    function = COMPARE[operation]

    def compare(evaluator: Evaluator, frame: Frame) -> Any:
        one = left(evaluator, frame)
        if type(one) is Opaque:
            return evaluator.compare(operation, one, fixed)
        return function(one, fixed)

    return compare


def _find(operation: type[ast.cmpop], left: Code, comparator: ast.expr) -> Code:
    right, is_in = code_of(comparator), operation is ast.In
    fixed = ast.literal_eval(comparator) if is_fixed(comparator) else ()

    def find_in_fixed(evaluator: Evaluator, frame: Frame) -> Any:
        one = left(evaluator, frame)
        if type(one) in _SIMPLE:
            return (one in fixed) is is_in
        return evaluator.compare(operation, one, fixed)

    def find(evaluator: Evaluator, frame: Frame) -> Any:
        one, items = left(evaluator, frame), right(evaluator, frame)
        if type(one) in _SIMPLE:
            kind = type(items)
            if kind in _HASHED or (kind in _SEQUENCES and Opaque not in map(type, items)):
                return (one in items) is is_in
        return evaluator.compare(operation, one, items)

    return find_in_fixed if is_fixed(comparator) else find
