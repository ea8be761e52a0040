"""Restates `add_cli_args_from_dataclass`: an annotated field becomes `add_argument` keywords.

Source: `arg_groups/arg_utils.py`, 0.5.14 to 0.5.23.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from specpreflight.engines.sglang.harvest.evaluate import Evaluator
from specpreflight.engines.sglang.harvest.source_tree import Module


@dataclass(slots=True)
class Keywords:
    """What `add_argument` is called with: expressions as written, and values already known."""

    names: list[str]
    written: dict[str, ast.expr] = field(default_factory=dict)
    known: dict[str, Any] = field(default_factory=dict)


def annotated_option(node: ast.AnnAssign, module: Module, evaluator: Evaluator) -> Keywords | None:
    """Return the keywords for `name: A[type, "help" or Arg(...)] = default`.

    `None` where the field has no such annotation, or none for the command line (`no_cli`).
    """
    parts = _annotation(node)
    if parts is None or not isinstance(node.target, ast.Name):
        return None
    declared, given = parts

    def value(keyword: str) -> Any:
        return evaluator.evaluate(given[keyword], module) if keyword in given else None

    if value("no_cli") is True:
        return None
    name = node.target.id
    option = Keywords(
        names=[value("cli_name") or "--" + name.replace("_", "-"), *(value("aliases") or ())],
        known={"dest": name},
    )
    if node.value is not None:
        option.known["default"] = evaluator.field_default(node.value, module)
    if "action" in given:
        option.written = {"action": given["action"], **_items(given.get("action_kwargs"))}
        if "default" in option.written:
            option.known.pop("default", None)
        return option
    option.written = {key: given[key] for key in ("choices", "nargs", "const") if key in given}
    parser = given.get("type_parser")
    if parser is not None:
        option.written["type"] = parser
    match _without_none(declared):
        case ast.Subscript(value=ast.Name(id="Literal"), slice=literal):
            values = evaluator.evaluate(literal, module)
            literals = values if isinstance(values, tuple) else (values,)
            option.written.pop("nargs", None)
            if not value("choices"):
                option.known["choices"] = literals
            if parser is None:
                option.known["type"] = _scalar(type(literals[0]).__name__)
        case ast.Subscript(value=ast.Name(id="list" | "List"), slice=element) if parser is None:
            option.known["type"] = _scalar(ast.unparse(element))
            option.known["nargs"] = value("nargs") or "+"
        case ast.Name(id="bool"):
            option.written, option.known["action"] = {}, "store_true"
        case inner:
            if parser is None:
                option.known["type"] = _scalar(ast.unparse(inner))
            wanted = value("required")
            option.known["required"] = wanted is True or (wanted is None and node.value is None)
    return option


def _annotation(node: ast.AnnAssign) -> tuple[ast.expr, Mapping[str, ast.expr]] | None:
    """Return the declared type and the keywords of `Arg(...)` (none for a bare help text)."""
    match node.annotation:
        case ast.Subscript(
            value=ast.Name(id="A" | "Annotated"), slice=ast.Tuple(elts=[declared, *metadata])
        ):
            for part in metadata:
                match part:
                    case ast.Call(func=ast.Name(id="Arg"), keywords=keywords):
                        return declared, {word.arg: word.value for word in keywords if word.arg}
                    case ast.Constant(value=str()) | ast.JoinedStr() | ast.BinOp():
                        return declared, {}
    return None


def _without_none(node: ast.expr) -> ast.expr:
    """Restate `_unwrap_optional`: `Optional[X]` and `X | None` are X."""
    match node:
        case ast.Subscript(value=ast.Name(id="Optional"), slice=inner):
            return inner
        case ast.BinOp(left=left, op=ast.BitOr(), right=ast.Constant(value=None)):
            return left
        case ast.BinOp(left=ast.Constant(value=None), op=ast.BitOr(), right=right):
            return right
    return node


def _scalar(text: str) -> str:
    """Restate `_infer_type_func`: whatever is not a number is text."""
    return text if text in ("int", "float") else "str"


def _items(node: ast.expr | None) -> dict[str, ast.expr]:
    match node:
        case ast.Dict(keys=keys, values=values):
            return {
                str(key.value): value
                for key, value in zip(keys, values, strict=True)
                if isinstance(key, ast.Constant)
            }
        case ast.Call(func=ast.Name(id="dict"), keywords=keywords):
            return {word.arg: word.value for word in keywords if word.arg}
    return {}
