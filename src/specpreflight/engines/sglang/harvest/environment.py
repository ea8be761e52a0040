"""The variables that the engine reads: its registry (`srt/environ.py`, 0.5.3+) and direct reads.

Direct reads are `get_bool_env_var`, `get_int_env_var`, `os.getenv` and `os.environ.get` with the
engine's own names anywhere below `srt/` (and in the package's own folder); where a name is read in
several places, the first file by name stands for all.
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from specpreflight.engines.sglang.facts import UNKNOWN, EnvironmentVariable
from specpreflight.engines.sglang.harvest.evaluate import Evaluator
from specpreflight.engines.sglang.harvest.source_tree import Module, SourceTree

#: The file that declares most variables, from 0.5.3.
REGISTRY = "srt/environ.py"

_OWN_NAME = re.compile(r"(SGLANG|SGL)_\w+|(SIMULATE_ACC|RETURN_ORIGINAL|SYNC_TOKEN_IDS)_\w+")
_READS = re.compile(rb"""(env_var|getenv|environ\.get)\(\s*["'](SGL|SIM|RETURN_|SYNC_)""")
_KINDS = {
    "EnvBool": "bool",
    "EnvInt": "int",
    "EnvFloat": "float",
    "EnvStr": "str",
    "EnvTuple": "tuple",
    "EnvJSON": "json",
}


@dataclass(frozen=True, slots=True)
class _Truth:
    """How a boolean reader understands text."""

    truthy: tuple[str, ...]
    falsy: tuple[str, ...]
    raises: bool


def read_environment(
    tree: SourceTree, patterns: Sequence[str] = ("*.py", "srt/**/*.py")
) -> dict[str, EnvironmentVariable]:
    """Return the engine's variables by name; direct reads are searched in `patterns`."""
    paths = [path for pattern in patterns for path in tree.files(pattern)]
    reader = _Reader(tree, paths)
    found = {variable.name: variable for variable in reader.direct()}
    found.update((variable.name, variable) for variable in reader.registry())
    return dict(sorted(found.items()))


def read_variable(tree: SourceTree, name: str, module: Module) -> EnvironmentVariable | None:
    """Return one variable as `module` reads it: from the registry, or by name."""
    reader = _Reader(tree, [])
    for variable in reader.registry():
        if variable.name == name:
            return variable
    reader.paths = [tree.root / module.relative]
    return next((variable for variable in reader.direct() if variable.name == name), None)


class _Reader:
    def __init__(self, tree: SourceTree, paths: Sequence[Path]) -> None:
        self.tree = tree
        self.evaluator = Evaluator(tree)
        self.paths = paths

    def registry(self) -> Iterator[EnvironmentVariable]:
        """Yield what `class Envs` declares."""
        module = self.tree.at(REGISTRY)
        envs = module.class_("Envs") if module else None
        if module is None or envs is None:
            return
        truth = self._truth(module, "EnvBool", "parse")
        for statement in envs.body:
            match statement:
                case ast.Assign(
                    targets=[ast.Name(id=name)],
                    value=ast.Call(func=ast.Name(id=class_), args=arguments, keywords=keywords),
                ):
                    given = {keyword.arg: keyword.value for keyword in keywords}
                    default = arguments[0] if arguments else given.get("default")
                    old = given.get("deprecated_name")
                    kind = self._kind(module, class_)
                    yield EnvironmentVariable(
                        name,
                        kind,
                        self.evaluator.evaluate(default, module) if default else None,
                        truth.truthy if kind == "bool" else (),
                        truth.falsy if kind == "bool" else (),
                        "default" if truth.raises or kind != "bool" else "false",
                        self.evaluator.evaluate(old, module) if old else None,
                        module.relative,
                    )

    def direct(self) -> Iterator[EnvironmentVariable]:
        """Yield what is read by name, the first reader (by file name) last."""
        utilities = self.tree.first_at("srt/utils/common.py", "srt/utils.py")
        truth = self._truth(utilities, "get_bool_env_var")
        for module, lines in reversed(list(self._readers())):
            parents = _parents_at(module.tree, lines)
            for node in parents:
                match node:
                    case ast.Call(args=[ast.Constant(value=str(name)), *_]):
                        variable = None
                        if _OWN_NAME.fullmatch(name):
                            variable = self._of_read(name, node, module, parents, truth)
                        if variable is not None:
                            yield variable

    def _readers(self) -> Iterator[tuple[Module, list[int]]]:
        """Yield the modules that read an own variable, with the numbers of the lines."""
        for path in self.paths:
            source = path.read_bytes()
            lines = [source.count(b"\n", 0, found.end()) + 1 for found in _READS.finditer(source)]
            if lines:
                module = self.tree.at(path.relative_to(self.tree.root).as_posix())
                if module is not None:
                    yield module, lines

    def _of_read(
        self,
        name: str,
        node: ast.Call,
        module: Module,
        parents: dict[ast.AST, ast.AST | None],
        truth: _Truth,
    ) -> EnvironmentVariable | None:
        reader = ast.unparse(node.func)
        given = node.args[1] if len(node.args) > 1 else None
        for keyword in node.keywords:
            if keyword.arg == "default":
                given = keyword.value
        default = self.evaluator.evaluate(given, module) if given is not None else None
        source = module.relative
        match reader.rpartition(".")[2]:
            case "get_bool_env_var":
                text = "false" if given is None else default
                known = UNKNOWN if not isinstance(text, str) else text.lower() in truth.truthy
                return EnvironmentVariable(
                    name, "bool", known, truth.truthy, truth.falsy, "false", None, source
                )
            case "get_int_env_var":
                return EnvironmentVariable(
                    name, "int", 0 if given is None else default, source=source
                )
            case "getenv" | "get":
                return _of_plain_read(name, node, default, parents, source)
        return None

    def _kind(self, module: Module, class_: str) -> str:
        """Return the kind of a field class, through its bases."""
        if class_ in _KINDS:
            return _KINDS[class_]
        found = self.tree.find(module, class_)
        if found is not None and isinstance(found[1], ast.ClassDef):
            for base in found[1].bases:
                if isinstance(base, ast.Name):
                    kind = self._kind(found[0], base.id)
                    if kind != "other":
                        return kind
        return "other"

    def _truth(self, module: Module | None, *path: str) -> _Truth:
        """Read the lists that a boolean parser compares with, and whether it raises."""
        function = module.function(*path) if module else None
        if module is None or function is None:
            return _Truth((), (), raises=False)
        lists = [
            known
            for node in ast.walk(function)
            if isinstance(node, ast.List | ast.Tuple)
            and isinstance(node.ctx, ast.Load)
            and (known := self.evaluator.evaluate(node, module))
            and all(isinstance(text, str) for text in known)
        ]
        truthy = next((tuple(known) for known in lists if "true" in known), ())
        falsy = next((tuple(known) for known in lists if "false" in known), ())
        raises = any(isinstance(node, ast.Raise) for node in ast.walk(function))
        return _Truth(truthy, falsy, raises)


def _of_plain_read(
    name: str,
    node: ast.Call,
    default: Any,
    parents: dict[ast.AST, ast.AST | None],
    source: str,
) -> EnvironmentVariable:
    """Say what a read of text is turned into: `int(...)`, `... == "1"`, `... in ("1", "true")`."""
    outer = parents[node]
    while isinstance(outer, ast.Attribute | ast.Call) and not (
        isinstance(outer, ast.Call) and isinstance(outer.func, ast.Name)
    ):
        outer = parents[outer]
    match outer:
        case ast.Call(func=ast.Name(id=("int" | "float") as kind)):
            try:
                known = (
                    default
                    if default in (None, UNKNOWN)
                    else {"int": int, "float": float}[kind](default)
                )
            except (TypeError, ValueError):
                known = UNKNOWN
            return EnvironmentVariable(name, kind, known, on_other="raises", source=source)
        case ast.Compare(ops=[ast.Eq() | ast.In()], comparators=[compared]):
            try:
                texts = ast.literal_eval(compared)
            except ValueError:
                return EnvironmentVariable(name, "other", default, source=source)
            truthy = (texts,) if isinstance(texts, str) else tuple(map(str, texts))
            known = default in truthy if default is not UNKNOWN else UNKNOWN
            return EnvironmentVariable(name, "bool", known, truthy, (), "false", source=source)
    return EnvironmentVariable(name, "str", default, source=source)


def _parents_at(tree: ast.Module, lines: list[int]) -> dict[ast.AST, ast.AST | None]:
    """Return the parents of the nodes that stand on one of `lines`."""
    found: dict[ast.AST, ast.AST | None] = {tree: None}
    pending: list[ast.AST] = [tree]
    while pending:
        node = pending.pop()
        for child in ast.iter_child_nodes(node):
            first: int = getattr(child, "lineno", 0)
            last: int = getattr(child, "end_lineno", sys.maxsize)
            if any(first <= line <= last for line in lines):
                found[child] = node
                pending.append(child)
    return found
