"""Type annotations of vLLM's config classes as data: the alternatives that a field takes.

`int | None` is `["int", "none"]`, `Literal["a", "b"]` is `[{"literal": ["a", "b"]}]`, a class is
`[{"class": "ModelConfig"}]`. Aliases are followed through the modules that define them.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Any

from specpreflight.engines.sglang.harvest.source_tree import Module, SourceTree

_BUILTIN = frozenset({"int", "float", "bool", "str", "dict", "list", "tuple", "set"})
_GENERIC = {"List": "list", "Dict": "dict", "Tuple": "tuple", "Set": "set"}


def describe(tree: SourceTree, module: Module, annotation: ast.expr) -> list[Any]:
    """Return the alternatives of an annotation, in the order in which they are written."""
    found: list[Any] = []
    for alternative in _alternatives(tree, module, annotation):
        if alternative not in found:
            found.append(alternative)
    return found


def literal_values(tree: SourceTree, module: Module, annotation: ast.expr) -> list[Any]:
    """Return the values of every `Literal` in an annotation, nested and aliased ones included."""
    return [
        value
        for alternative in _alternatives(tree, module, annotation)
        if isinstance(alternative, dict) and "literal" in alternative
        for value in alternative["literal"]
    ]


def _alternatives(tree: SourceTree, module: Module, node: ast.expr) -> Iterator[Any]:
    match node:
        case ast.Constant(value=None):
            yield "none"
        case ast.Constant(value=str() as text):
            yield from _alternatives(tree, module, ast.parse(text, mode="eval").body)
        case ast.BinOp(left=left, op=ast.BitOr(), right=right):
            yield from _alternatives(tree, module, left)
            yield from _alternatives(tree, module, right)
        case ast.Name(id=name) if name in _BUILTIN:
            yield name
        case ast.Name(id="Any"):
            yield "any"
        case ast.Name(id=name):
            yield from _named(tree, module, name)
        case ast.Attribute(value=ast.Name(id=owner), attr=name):
            yield from _member(tree, module, owner, name)
        case ast.Subscript(value=ast.Name(id=name), slice=inner):
            yield from _generic(tree, module, name, inner)
        case _:
            yield {"class": ast.unparse(node)}


def _generic(tree: SourceTree, module: Module, name: str, inner: ast.expr) -> Iterator[Any]:
    parts = inner.elts if isinstance(inner, ast.Tuple) else [inner]
    if name == "Literal":
        yield {"literal": [value for part in parts for value in _choices(tree, module, part)]}
    elif name == "Optional":
        yield from _alternatives(tree, module, inner)
        yield "none"
    elif name == "Union":
        for part in parts:
            yield from _alternatives(tree, module, part)
    elif name == "SkipValidation":
        yield {"unchecked": describe(tree, module, inner)}
    elif name in ("Annotated", "InitVar", "ClassVar"):
        yield from _alternatives(tree, module, parts[0])
    else:
        plain = _GENERIC.get(name, name)
        items = [describe(tree, module, part) for part in parts if not _is_ellipsis(part)]
        yield {plain: items} if plain in _BUILTIN else {"class": name}


def _choices(tree: SourceTree, module: Module, part: ast.expr) -> list[Any]:
    """Return what one entry of a `Literal` stands for: a value, or an alias of more literals."""
    if isinstance(part, ast.Constant):
        return [part.value]
    return literal_values(tree, module, part)


def _named(tree: SourceTree, module: Module, name: str) -> Iterator[Any]:
    found = tree.find(module, name)
    if found is None or not isinstance(found[1], ast.expr):
        yield {"class": name}
    else:
        yield from _alternatives(tree, found[0], found[1])


def _member(tree: SourceTree, module: Module, owner: str, name: str) -> Iterator[Any]:
    """Follow `module_alias.Name`, also where the alias is a `LazyLoader` of that module."""
    for candidate in _modules_called(tree, module, owner):
        if name in candidate.definitions:
            yield from _named(tree, candidate, name)
            return
    yield {"class": name}


def _modules_called(tree: SourceTree, module: Module, owner: str) -> Iterator[Module]:
    imported = module.imported(owner)
    if imported is not None:
        attribute = f".{imported.attribute}" if imported.attribute else ""
        for dotted in (imported.module, imported.module + attribute):
            found = tree.module(dotted)
            if found is not None:
                yield found


def _is_ellipsis(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is Ellipsis
