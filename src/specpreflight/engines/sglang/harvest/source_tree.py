"""A Python package on disk, parsed on demand, whose names can be followed across its modules."""

from __future__ import annotations

import ast
import contextlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

Definition = ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef | ast.expr


@dataclass(frozen=True, slots=True)
class Import:
    """A name that another module gives: `attribute` of `module`, or the module itself."""

    module: str
    attribute: str | None


@dataclass(slots=True)
class Module:
    """One parsed file.

    Attributes:
        name: dotted (`sglang.srt.server_args`).
        relative: path below the package, for sources in reports (`srt/server_args.py`).
        definitions: what each top-level name is bound to (the last binding wins; one inside a
            condition counts only where the name has no other).
    """

    name: str
    relative: str
    source: bytes
    tree: ast.Module
    is_package: bool
    definitions: dict[str, Definition] = field(default_factory=dict)
    _top_imports: dict[str, Import] = field(default_factory=dict)
    _all_imports: dict[str, Import] | None = None

    def imported(self, name: str) -> Import | None:
        """Return the import that binds `name`, one inside a function too."""
        found = self._top_imports.get(name)
        if found is None:
            if self._all_imports is None:
                self._all_imports = {}
                _bind_imports(self, ast.walk(self.tree), self._all_imports)
            found = self._all_imports.get(name)
        return found

    def function(self, *path: str) -> ast.FunctionDef | None:
        """Return a function by its path, `("ServerArgs", "add_cli_args")`, or `None`."""
        body: list[ast.stmt] = self.tree.body
        found: ast.stmt | None = None
        for part in path:
            found = _find(body, part)
            if found is None:
                return None
            body = found.body if isinstance(found, ast.ClassDef | ast.FunctionDef) else []
        return found if isinstance(found, ast.FunctionDef) else None

    def class_(self, name: str) -> ast.ClassDef | None:
        """Return the top-level class called `name`, or `None`."""
        found = self.definitions.get(name)
        return found if isinstance(found, ast.ClassDef) else None


class SourceTree:
    """A package folder. Files are parsed when they are asked for, each one once.

    `seen` holds every file that was read or listed: what the answers depend on. `shorten` may
    leave out what is not needed of a file's text; where the rest can't be parsed, it is not used.
    """

    def __init__(self, root: Path, shorten: Callable[[bytes], bytes] | None = None) -> None:
        self.root = root
        self._shorten = shorten
        self.package = root.name
        self.seen: set[Path] = set()
        self._modules: dict[str, Module | None] = {}

    def files(self, pattern: str) -> list[Path]:
        """Return the files that match `pattern` below the package, sorted."""
        found = sorted(self.root.glob(pattern))
        self.seen.update(found)
        return found

    def module(self, name: str) -> Module | None:
        """Return the module called `name` (dotted, with the package), `None` if there is none.

        A file that is not Python of this interpreter's grammar counts as absent.
        """
        if name not in self._modules:
            self._modules[name] = self._parse(name)
        return self._modules[name]

    def at(self, relative: str) -> Module | None:
        """Return the module of the file `relative` (`srt/server_args.py`), `None` if absent."""
        parts = [self.package, *relative.removesuffix(".py").split("/")]
        return self.module(".".join(part for part in parts if part != "__init__"))

    def first_at(self, *relatives: str) -> Module | None:
        """Return the first of several files that exists: a file's names over the releases."""
        return next((found for name in relatives if (found := self.at(name)) is not None), None)

    def modules_in(self, relative: str) -> Iterator[Module]:
        """Yield the modules of a folder (not of its subfolders), by name."""
        for path in self.files(f"{relative}/*.py"):
            module = self.at(f"{relative}/{path.name}")
            if module is not None:
                yield module

    def find(self, module: Module, name: str) -> tuple[Module, Definition] | None:
        """Follow `name` from `module` through imports to what defines it, inside this tree."""
        seen: set[tuple[str, str]] = set()
        current: Module | None = module
        while current is not None and (current.name, name) not in seen:
            seen.add((current.name, name))
            if name in current.definitions:
                return current, current.definitions[name]
            imported = current.imported(name)
            if imported is None:
                return self._find_behind_stars(current, name)
            if imported.attribute is None:
                return None
            current, name = self.module(imported.module), imported.attribute
        return None

    def _find_behind_stars(self, module: Module, name: str) -> tuple[Module, Definition] | None:
        for statement in module.tree.body:
            match statement:
                case ast.ImportFrom(module=source, names=[ast.alias(name="*")], level=level):
                    other = self.module(_absolute(module, source, level))
                    found = self.find(other, name) if other else None
                    if found is not None:
                        return found
        return None

    def _parse(self, name: str) -> Module | None:
        parts = name.split(".")
        if parts[0] != self.package:
            return None
        base = self.root.joinpath(*parts[1:])
        for path, is_package in ((base.with_suffix(".py"), False), (base / "__init__.py", True)):
            if len(parts) == 1 and not is_package:
                continue
            try:
                source = path.read_bytes()
                tree = self._syntax(source)
            except (FileNotFoundError, NotADirectoryError):
                continue
            except (SyntaxError, ValueError):
                return None
            self.seen.add(path)
            relative = path.relative_to(self.root).as_posix()
            module = Module(name, relative, source, tree, is_package)
            _bind(module, tree.body, conditional=False)
            _bind_imports(module, _outside_functions(tree.body), module._top_imports)
            return module
        return None

    def _syntax(self, source: bytes) -> ast.Module:
        if self._shorten is not None:
            with contextlib.suppress(SyntaxError):
                return ast.parse(self._shorten(source))
        return ast.parse(source)


def _find(body: list[ast.stmt], name: str) -> ast.stmt | None:
    found = None
    for statement in body:
        if isinstance(statement, ast.ClassDef | ast.FunctionDef) and statement.name == name:
            found = statement
    return found


def _bind(module: Module, body: list[ast.stmt], *, conditional: bool) -> None:
    for statement in body:
        match statement:
            case ast.ClassDef() | ast.FunctionDef() | ast.AsyncFunctionDef():
                _set(module, statement.name, statement, conditional)
            case ast.Assign(targets=targets, value=value):
                for target in targets:
                    if isinstance(target, ast.Name):
                        _set(module, target.id, value, conditional)
            case ast.AnnAssign(target=ast.Name(id=name), value=ast.expr() as value):
                _set(module, name, value, conditional)
            case ast.AugAssign(target=ast.Name(id=name), op=ast.Add(), value=value):
                before = module.definitions.get(name)
                if isinstance(before, ast.expr) and not conditional:
                    module.definitions[name] = ast.BinOp(before, ast.Add(), value)
            case ast.If(body=inner, orelse=other):
                _bind(module, inner, conditional=True)
                _bind(module, other, conditional=True)
            case ast.Try(body=inner, handlers=handlers, orelse=other):
                _bind(module, inner + other, conditional=True)
                for handler in handlers:
                    _bind(module, handler.body, conditional=True)


def _set(module: Module, name: str, value: Definition, conditional: bool) -> None:
    if not conditional or name not in module.definitions:
        module.definitions[name] = value


def _outside_functions(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    for statement in body:
        yield statement
        match statement:
            case ast.If(body=inner, orelse=other):
                yield from _outside_functions(inner + other)
            case ast.Try(body=inner, handlers=handlers, orelse=other):
                yield from _outside_functions(inner + other)
                for handler in handlers:
                    yield from _outside_functions(handler.body)


def _bind_imports(module: Module, nodes: Iterable[ast.AST], names: dict[str, Import]) -> None:
    for node in nodes:
        match node:
            case ast.ImportFrom(module=source, names=aliases, level=level):
                origin = _absolute(module, source, level)
                for alias in aliases:
                    names.setdefault(alias.asname or alias.name, Import(origin, alias.name))
            case ast.Import(names=aliases):
                for alias in aliases:
                    names.setdefault(
                        alias.asname or alias.name.split(".")[0], Import(alias.name, None)
                    )


def _absolute(module: Module, source: str | None, level: int) -> str:
    if level == 0:
        return source or ""
    parts = module.name.split(".")
    keep = len(parts) - level + (1 if module.is_package else 0)
    return ".".join([*parts[:keep], *([source] if source else [])])
