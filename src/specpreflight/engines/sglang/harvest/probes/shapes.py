"""What probes look for in syntax trees, and how they answer."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

from specpreflight.engines.sglang.harvest.source_tree import Module, SourceTree


class Answer(NamedTuple):
    """A probe's answer, and the function that it was read from (`file:function`)."""

    value: Any
    source: str


Probe = Callable[[SourceTree], "Answer | None"]


def source(module: Module, *path: str) -> str:
    """Return `file:Class.function`."""
    return f"{module.relative}:{'.'.join(path)}"


def function_at(
    tree: SourceTree, *places: tuple[str, tuple[str, ...]]
) -> tuple[Module, ast.FunctionDef, str] | None:
    """Return the first function that exists among `(file, path)` places, with its source."""
    for file, path in places:
        module = tree.at(file)
        function = module.function(*path) if module else None
        if module is not None and function is not None:
            return module, function, source(module, *path)
    return None


def raises(nodes: Iterable[ast.AST]) -> bool:
    """Say whether a `raise` or an `assert` stands in any of `nodes`."""
    return any(
        isinstance(inner, ast.Raise | ast.Assert) for node in nodes for inner in ast.walk(node)
    )


def ifs(node: ast.AST) -> Iterator[ast.If]:
    """Yield the `if` statements below `node`, outer ones first."""
    for inner in ast.walk(node):
        if isinstance(inner, ast.If):
            yield inner


def mentions(node: ast.AST, *names: str) -> bool:
    """Say whether every one of `names` is an identifier, attribute or text below `node`."""
    found: set[str] = set()
    for inner in ast.walk(node):
        match inner:
            case ast.Name(id=name) | ast.Attribute(attr=name) | ast.keyword(arg=str(name)):
                found.add(name)
            case ast.Constant(value=str(text)):
                found.add(text)
    return found.issuperset(names)


def calls(node: ast.AST, name: str) -> Iterator[ast.Call]:
    """Yield the calls of a function or method called `name` below `node`."""
    for inner in ast.walk(node):
        match inner:
            case ast.Call(func=ast.Name(id=called) | ast.Attribute(attr=called)) if called == name:
                yield inner


def says(node: ast.AST, text: str) -> bool:
    """Say whether a string constant below `node` contains `text`."""
    return any(
        isinstance(inner, ast.Constant) and isinstance(inner.value, str) and text in inner.value
        for inner in ast.walk(node)
    )
