"""Which definitions a set of roots can reach, by the names that their text mentions."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Iterator

from specpreflight.engines.source.modules import Definition, Module, Sources, origin_of

#: What a definition is: module, key.
Place = tuple[str, str]

_IMPORTS = (ast.Import, ast.ImportFrom)


class Closure:
    """Follows names from definition to definition.

    Args:
        sources: where modules come from.
        follow: whether a dotted name is worth following; what is not stays unknown to a check.
        wanted: whether a method of a class is worth keeping.
    """

    def __init__(
        self,
        sources: Sources,
        follow: Callable[[str], bool],
        wanted: Callable[[str, str, str], bool],
    ) -> None:
        self._sources = sources
        self._follow = follow
        self._wanted = wanted
        self.found: dict[Place, Definition] = {}
        self.modules: dict[str, Module] = {}

    def add(self, dotted: str) -> None:
        """Add the definition of a dotted name, and everything that it mentions."""
        queue = [dotted]
        while queue:
            name = queue.pop()
            followed = self._follow(name)
            if not followed and name.rpartition(".")[0] not in self.modules:
                continue
            queue.extend(self._starred(name))
            for module, definition in self._definitions(name):
                if not followed and not isinstance(definition.statements[0], _IMPORTS):
                    continue
                place = (module.name, definition.key)
                if place not in self.found:
                    self.found[place] = definition
                    self.modules[module.name] = module
                    queue.extend(_mentioned(definition, module))

    def _starred(self, dotted: str) -> Iterator[str]:
        """Yield the names that a module may get from a star import, and the import itself."""
        parent, _, name = dotted.rpartition(".")
        module = self._sources.module(parent) if parent else None
        if module is None or name in module.definitions or name == "*":
            return
        for definition in module.definitions.get("*", []):
            statement = definition.statements[0]
            if isinstance(statement, ast.ImportFrom):
                yield f"{parent}.*"
                yield f"{origin_of(statement, module)}.{name}"

    def _definitions(self, dotted: str) -> Iterator[tuple[Module, Definition]]:
        parent, _, name = dotted.rpartition(".")
        module = self._sources.module(parent) if parent else None
        if module is None:
            return
        for definition in module.definitions.get(name, []):
            yield module, definition
        for method, definition in module.methods.get(name, {}).items():
            if self._wanted(module.name, name, method):
                yield module, definition


def _mentioned(definition: Definition, module: Module) -> Iterable[str]:
    """Yield the dotted names that a definition's text may refer to."""
    for statement in definition.statements:
        for node in ast.walk(statement):
            if isinstance(node, ast.Name):
                yield f"{module.name}.{node.id}"
            elif isinstance(node, ast.Import):
                yield from (alias.name for alias in node.names)
            elif isinstance(node, ast.ImportFrom):
                origin = origin_of(node, module)
                yield from (f"{origin}.{alias.name}" for alias in node.names)
