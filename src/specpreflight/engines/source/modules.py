"""Modules as text: where a name is defined, without evaluating anything.

A module is a list of definitions, in order. Each is one top-level statement; of a class the methods
are definitions of their own, so that a release which changes one of them shares the rest with its
neighbours, and a check parses only what it evaluates.
"""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import cache
from itertools import count
from pathlib import Path
from typing import Protocol

#: An import of one name, as `ast.unparse` writes it; more than half of all definitions.
_IMPORT = re.compile(r"from (\.*)([\w.]*) import (\w+)(?: as (\w+))?")


@cache
def _parse(text: str) -> list[ast.stmt]:
    """Parse a definition once a process: a launch is predicted for several machines."""
    if match := _IMPORT.fullmatch(text):
        dots, module, name, other = match.groups()
        return [ast.ImportFrom(module or None, [ast.alias(name, other)], len(dots))]
    return ast.parse(text).body


@dataclass(eq=False)
class Definition:
    """One top-level statement, or all definitions of one method.

    Attributes:
        key: the name it binds, `Class.method`, or `name,name` for several; a number follows where a
            name is bound more than once.
        text: its source; parsed when `statements` is first asked for.
    """

    key: str
    text: str = ""
    parsed: list[ast.stmt] | None = None
    evaluated: bool = False

    @property
    def statements(self) -> list[ast.stmt]:
        """The statement; a property with a setter has two."""
        if self.parsed is None:
            self.parsed = _parse(self.text)
        return self.parsed

    @property
    def source(self) -> str:
        """Its text, however it was made."""
        return self.text or "\n".join(ast.unparse(statement) for statement in self.statements)

    @property
    def names(self) -> tuple[str, ...]:
        """The module's names that it binds, or whose value it changes in place."""
        return tuple(self.key.partition("#")[0].split(","))


@dataclass(eq=False)
class Module:
    """A module of the evaluated source.

    Attributes:
        name: its dotted name.
        package: the package that its relative imports start from.
        strings: annotations are strings (`from __future__ import annotations`), which switches
            off the type checks of strict dataclasses.
        definitions: name → what binds or changes it, in order.
        methods: class name → method name → its definition.
        values: names that were evaluated already.
        loaded: what names mean in its functions, once that is settled: builtins and imports too.
    """

    name: str
    package: str
    strings: bool
    definitions: dict[str, list[Definition]]
    methods: dict[str, dict[str, Definition]]
    values: dict[str, object] = field(default_factory=dict)
    loaded: dict[str, object] = field(default_factory=dict)


class Sources(Protocol):
    """Where modules come from."""

    def module(self, name: str) -> Module | None:
        """Return the module with this dotted name, `None` where its source is not at hand."""
        ...


#: Key of the marker that says a module's annotations are strings.
STRINGS = "from __future__ import annotations"


def build_module(name: str, definitions: Iterable[Definition], *, is_package: bool) -> Module:
    """Return the module that consists of these definitions."""
    package = name if is_package else name.rpartition(".")[0]
    module = Module(name, package, False, {}, {})
    for definition in sorted(definitions, key=lambda each: each.key.partition("#")[2]):
        if definition.key == STRINGS:
            module.strings = True
        elif "." in definition.key.partition("#")[0]:
            owner, _, method = definition.key.partition(".")
            module.methods.setdefault(owner, {})[method] = definition
        else:
            for bound in definition.names:
                module.definitions.setdefault(bound, []).append(definition)
    return module


def split_module(text: str) -> list[Definition]:
    """Return the definitions of a module's text, without docstrings.

    Names that several statements bind or change get keys with a running number, in order.
    """
    found: list[Definition] = []
    for statement in ast.parse(text).body:
        if isinstance(statement, ast.ImportFrom) and statement.module == "__future__":
            if any(alias.name == "annotations" for alias in statement.names):
                found.append(Definition(STRINGS))
        elif isinstance(statement, (ast.Import, ast.ImportFrom)):
            found.extend(_split_import(statement))
        elif isinstance(statement, ast.ClassDef):
            found.extend(_split_class(statement))
        elif names := tuple(dict.fromkeys(bound_names(statement))):
            found.append(Definition(",".join(names), parsed=[_without_docstring(statement)]))
    bindings = Counter(
        name for definition in found if "." not in definition.key for name in definition.names
    )
    numbers = count()
    for definition in found:
        if any(bindings[name] > 1 for name in definition.names):
            definition.key = f"{definition.key}#{next(numbers):03}"
    return found


def _split_import(statement: ast.Import | ast.ImportFrom) -> Iterator[Definition]:
    for alias in statement.names:
        single: ast.stmt
        if isinstance(statement, ast.ImportFrom):
            single = ast.ImportFrom(statement.module, [alias], statement.level)
        else:
            single = ast.Import([alias])
        yield Definition(alias.asname or alias.name.split(".")[0], parsed=[single])


def _split_class(statement: ast.ClassDef) -> Iterator[Definition]:
    methods: dict[str, list[ast.stmt]] = {}
    rest: list[ast.stmt] = []
    for inner in statement.body:
        if isinstance(inner, ast.FunctionDef):
            methods.setdefault(inner.name, []).append(_without_docstring(inner))
        elif not _is_docstring(inner):
            rest.append(inner)
    header = ast.ClassDef(
        name=statement.name,
        bases=statement.bases,
        keywords=statement.keywords,
        body=rest or [ast.Pass()],
        decorator_list=statement.decorator_list,
    )
    for name in ("type_params",):
        if hasattr(statement, name):
            setattr(header, name, getattr(statement, name))
    yield Definition(statement.name, parsed=[header])
    for name, definitions in methods.items():
        yield Definition(f"{statement.name}.{name}", parsed=definitions)


def _without_docstring(statement: ast.stmt) -> ast.stmt:
    if isinstance(statement, ast.FunctionDef) and _is_docstring(statement.body[0]):
        statement.body = statement.body[1:] or [ast.Pass()]
    return statement


def _is_docstring(statement: ast.stmt) -> bool:
    return (
        isinstance(statement, ast.Expr)
        and isinstance(statement.value, ast.Constant)
        and isinstance(statement.value.value, str)
    )


def _target_name(target: ast.expr) -> str | None:
    while isinstance(target, ast.Subscript):
        target = target.value
    return target.id if isinstance(target, ast.Name) else None


def bound_names(statement: ast.stmt) -> Iterator[str]:
    """Yield the names that a statement binds, or whose value it changes in place."""
    match statement:
        case ast.FunctionDef() | ast.ClassDef():
            yield statement.name
        case ast.Import() | ast.ImportFrom():
            for alias in statement.names:
                yield alias.asname or alias.name.split(".")[0]
        case ast.Assign():
            for target in statement.targets:
                for item in target.elts if isinstance(target, ast.Tuple) else [target]:
                    if name := _target_name(item):
                        yield name
        case ast.AnnAssign() | ast.AugAssign():
            if (name := _target_name(statement.target)) and statement.value is not None:
                yield name
        case ast.Expr(ast.Call(ast.Attribute(value=ast.Name(id=name)))):
            yield name
        case ast.If() | ast.For():
            for inner in (*statement.body, *statement.orelse):
                yield from bound_names(inner)
        case ast.Try() | ast.With():
            handlers = statement.handlers if isinstance(statement, ast.Try) else []
            for inner in (*statement.body, *(i for h in handlers for i in h.body)):
                yield from bound_names(inner)
        case _:
            return


def origin_of(node: ast.ImportFrom, module: Module) -> str:
    """Return the dotted name of the module that a `from … import` names."""
    if not node.level:
        return node.module or ""
    parts = module.package.split(".")
    base = ".".join(parts[: len(parts) - node.level + 1])
    return f"{base}.{node.module or ''}".rstrip(".")


class TreeSources:
    """Modules of an unpacked wheel, a checkout or site-packages: package → folder above it."""

    def __init__(self, **roots: Path) -> None:
        self._roots = roots
        self._modules: dict[str, Module | None] = {}

    def module(self, name: str) -> Module | None:
        """Return the module with this dotted name, read from the root of its package."""
        if name not in self._modules:
            self._modules[name] = self._read(name)
        return self._modules[name]

    def _read(self, name: str) -> Module | None:
        relative = Path(*name.split("."))
        root = self._roots.get(relative.parts[0])
        if root is None:
            return None
        for path, is_package in (
            (root / relative.with_suffix(".py"), False),
            (root / relative / "__init__.py", True),
        ):
            if path.is_file():
                text = path.read_text(encoding="utf-8")
                return build_module(name, split_module(text), is_package=is_package)
        return None
