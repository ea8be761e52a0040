"""`SpeculativeConfig.hf_config_override` of a vLLM tree as a small program.

That function rewrites a draft's config before anything else looks at it, and it changes in
almost every release. It is therefore taken over statement by statement, in the nested lists that
`engines/vllm/config_override.py` evaluates, and not restated by hand.

Statements: `["set", name, value]`, `["set_attribute", object, name, value]`,
`["set_item", object, key, value]`, `["update", object, value]`, `["if", test, then, else]`,
`["raise", class, message]`, `["assert", test]`, `["return", value]`.
Expressions: `["value", constant]`, `["name", n]`, `["attribute", object, n]`, `["item", o, k]`,
`["list", […]]` (an entry may be `["spread", e]`), `["dict", [[k, v], …]]`, `["text", […]]`,
`["choose", test, a, b]`, `["bind", name, e]`, `["and"|"or", […]]`, `["not", e]`,
`["compare", operator, a, b]`, `["binary", operator, a, b]`, `["call", function, […]]`,
`["method", object, name, […]]`.
"""

from __future__ import annotations

import ast
from typing import Any

from specpreflight.engines.sglang.harvest.source_tree import Module, SourceTree

_COMPARISONS: dict[type[ast.cmpop], str] = {
    ast.Eq: "==", ast.NotEq: "!=", ast.In: "in", ast.NotIn: "not in", ast.Is: "is",
    ast.IsNot: "is not", ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=",
}  # fmt: skip
_BINARY: dict[type[ast.operator], str] = {ast.Add: "+", ast.Mult: "*", ast.BitOr: "|"}


class Unsupported(Exception):
    """A construct that the program form has no word for; the message is its source text."""


def read_override(tree: SourceTree, module: Module) -> list[Any]:
    """Return the statements of `hf_config_override`, `[]` where the tree has none.

    Raises:
        Unsupported: the function uses something that the evaluator would not understand.
    """
    function = module.function("SpeculativeConfig", "hf_config_override")
    return [] if function is None else _block(tree, function.body)


def _block(tree: SourceTree, body: list[ast.stmt]) -> list[Any]:
    return [part for statement in body for part in _statement(tree, statement)]


def _statement(tree: SourceTree, node: ast.stmt) -> list[Any]:
    match node:
        case ast.Expr(value=ast.Constant()) | ast.Pass():
            return []
        case ast.ImportFrom(module=source, names=names):
            return [_imported(tree, source or "", alias) for alias in names]
        case ast.Assign(targets=[target], value=value):
            return [_assignment(target, value)]
        case ast.If(test=test, body=body, orelse=orelse):
            return [["if", _expression(test), _block(tree, body), _block(tree, orelse)]]
        case ast.Return(value=value):
            return [["return", _expression(value) if value else ["value", None]]]
        case ast.Assert(test=test):
            return [["assert", _expression(test)]]
        case ast.Raise(exc=ast.Call(func=ast.Name(id=name), args=[message])):
            return [["raise", name, _expression(message)]]
        case ast.Expr(
            value=ast.Call(func=ast.Attribute(value=owner, attr="update"), args=[change])
        ):
            return [["update", _expression(owner), _expression(change)]]
    raise Unsupported(ast.unparse(node))


def _imported(tree: SourceTree, source: str, alias: ast.alias) -> list[Any]:
    """Turn an import of a constant inside the function into the constant."""
    home = tree.module(source)
    found = None if home is None else tree.find(home, alias.name)
    if found is None or not isinstance(found[1], ast.expr):
        raise Unsupported(f"from {source} import {alias.name}")
    return ["set", alias.asname or alias.name, ["value", ast.literal_eval(found[1])]]


def _assignment(target: ast.expr, value: ast.expr) -> list[Any]:
    match target:
        case ast.Name(id=name):
            return ["set", name, _expression(value)]
        case ast.Attribute(value=owner, attr=name):
            return ["set_attribute", _expression(owner), name, _expression(value)]
        case ast.Subscript(value=owner, slice=key):
            return ["set_item", _expression(owner), _expression(key), _expression(value)]
    raise Unsupported(ast.unparse(target))


def _expression(node: ast.expr) -> list[Any]:
    match node:
        case ast.Constant(value=value):
            return ["value", value]
        case ast.Name(id=name):
            return ["name", name]
        case ast.NamedExpr(target=ast.Name(id=name), value=value):
            return ["bind", name, _expression(value)]
        case ast.Attribute(value=owner, attr=name):
            return ["attribute", _expression(owner), name]
        case ast.Subscript(value=owner, slice=key):
            return ["item", _expression(owner), _expression(key)]
        case ast.List(elts=parts) | ast.Tuple(elts=parts) | ast.Set(elts=parts):
            return ["list", [_expression(part) for part in parts]]
        case ast.Starred(value=value):
            return ["spread", _expression(value)]
        case ast.Dict(keys=keys, values=values):
            pairs = zip(keys, values, strict=True)
            return ["dict", [[_expression(key), _expression(value)] for key, value in pairs if key]]
        case ast.JoinedStr(values=parts):
            return ["text", [_expression(part) for part in parts]]
        case ast.FormattedValue(value=value):
            return _expression(value)
        case ast.IfExp(test=test, body=body, orelse=orelse):
            return ["choose", _expression(test), _expression(body), _expression(orelse)]
        case ast.BoolOp(op=operator, values=parts):
            word = "and" if isinstance(operator, ast.And) else "or"
            return [word, [_expression(part) for part in parts]]
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            return ["not", _expression(operand)]
        case ast.Compare(left=left, ops=[operator], comparators=[right]):
            return ["compare", _COMPARISONS[type(operator)], _expression(left), _expression(right)]
        case ast.BinOp(left=left, op=operator, right=right) if type(operator) in _BINARY:
            return ["binary", _BINARY[type(operator)], _expression(left), _expression(right)]
        case ast.Call(func=ast.Name(id=name), args=arguments, keywords=[]):
            return ["call", name, [_expression(part) for part in arguments]]
        case ast.Call(func=ast.Attribute(value=ast.Name(id="copy"), attr="deepcopy"), args=[part]):
            return ["call", "deepcopy", [_expression(part)]]
        case ast.Call(func=ast.Attribute(value=owner, attr=name), args=arguments, keywords=[]):
            return ["method", _expression(owner), name, [_expression(part) for part in arguments]]
    raise Unsupported(ast.unparse(node))
