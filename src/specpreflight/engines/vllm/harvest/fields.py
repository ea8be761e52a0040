"""The fields of vLLM's config classes: type, default and bounds."""

from __future__ import annotations

import ast
from typing import Any

from specpreflight.engines.sglang.harvest.source_tree import Module, SourceTree
from specpreflight.engines.vllm.harvest.annotations import describe

#: pydantic `Field` bounds that a value is checked against.
BOUNDS = ("gt", "ge", "lt", "le")


def read_fields(tree: SourceTree, module: Module, class_name: str) -> dict[str, dict[str, Any]]:
    """Return the fields of a config class by name, those of its bases first.

    A field is `{"types": […], "default": …}` with `gt`, `ge`, `lt`, `le` where pydantic checks
    them; a default that is no constant is left out.
    """
    found = tree.find(module, class_name)
    if found is None:
        return {}
    owner, definition = found
    if not isinstance(definition, ast.ClassDef):
        return {}
    fields: dict[str, dict[str, Any]] = {}
    for base in definition.bases:
        if isinstance(base, ast.Name):
            fields |= read_fields(tree, owner, base.id)
    for statement in definition.body:
        if isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name):
            types = describe(tree, owner, statement.annotation)
            fields[statement.target.id] = {"types": types, **_default(statement.value)}
    return fields


def _default(value: ast.expr | None) -> dict[str, Any]:
    if isinstance(value, ast.Call):
        arguments = {word.arg: word.value for word in value.keywords if word.arg}
        facts = {
            bound: limit.value
            for bound in BOUNDS
            if isinstance(limit := arguments.get(bound), ast.Constant)
        }
        default = arguments.get("default") or (value.args[0] if value.args else None)
        return facts | _default(default)
    try:
        return {} if value is None else {"default": ast.literal_eval(value)}
    except ValueError:
        return {}
