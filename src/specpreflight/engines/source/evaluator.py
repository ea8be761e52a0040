"""Evaluates functions of an engine's source.

Plain data is computed by Python itself, so arithmetic and its errors are exact. Whatever depends
on something unknown becomes `Opaque`; a branch on an unknown condition is not taken, and what it
would have set is unknown afterwards. Nothing is imported, executed or written: what `statements.py`
and `expressions.py` compile are functions of this package that call each other.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping
from typing import Any, Final

from specpreflight.engines.source import builtin_functions  # noqa: F401 - fills BUILTINS
from specpreflight.engines.source.codes import code_of
from specpreflight.engines.source.functions import function_code
from specpreflight.engines.source.modules import Module, Sources, origin_of
from specpreflight.engines.source.natives import BUILTINS, call_python
from specpreflight.engines.source.operations import Operations
from specpreflight.engines.source.statements import block
from specpreflight.engines.source.values import (
    Class,
    External,
    Frame,
    Function,
    Instance,
    Method,
    Opaque,
    Raised,
    exception_bases,
    raised,
)

#: Evaluated calls may nest this deep; what goes deeper is unknown.
_MAX_DEPTH: Final = 60


class Evaluator(Operations):
    """Evaluates calls of functions in `sources`.

    `known` answers for names that lie outside the sources or that the launch decides
    (`sglang.srt.environ.envs`, `os.path.exists`): dotted name → value or Python callable.
    `absent` names packages that are not installed: importing them raises.
    `log` collects `(level, text)` of the messages that the code would log.
    """

    def __init__(
        self, sources: Sources, known: Mapping[str, Any], absent: frozenset[str] = frozenset()
    ) -> None:
        self.sources = sources
        self.known = known
        self.absent = absent
        self.log: list[tuple[str, str]] = []
        self.doubts: list[str] = []
        self.classes: list[Class] = []
        self._depth = 0
        self._remembering: list[Function] = []
        self._evaluated: set[Module] = set()
        self._defining = 0

    def doubt(self, frame: Frame, what: str) -> None:
        """Note a place where something unknown decided."""
        self.doubts.append(f"{frame.module.name}:{frame.function}: {what}")

    def forget_calls(self) -> None:
        """Empty what `lru_cache` has kept of calls."""
        for function in self._remembering:
            function.cache.clear()
        self._remembering.clear()

    def extents(self) -> dict[int, int]:
        """Return how long each list, dict and set of modules and classes is, by identity."""
        spaces: list[Mapping[str, Any]] = [module.values for module in self._evaluated]
        spaces += [each.attributes for each in self.classes]
        return {
            id(value): len(value)
            for space in spaces
            for value in space.values()
            if isinstance(value, (dict, list, set))
        }

    def value(self, node: ast.expr, frame: Frame) -> Any:
        """Evaluate an expression."""
        return code_of(node)(self, frame)

    # names

    def find(self, dotted: str) -> Any:
        """Return what a dotted name stands for; `Opaque` where that is unknown."""
        if dotted in self.known:
            return self.known[dotted]
        if (module := self.sources.module(dotted)) is not None:
            return module
        parent, _, name = dotted.rpartition(".")
        if parent and (module := self.sources.module(parent)) is not None:
            return self.module_name(module, name)
        return Opaque(dotted)

    def module_name(self, module: Module, name: str) -> Any:
        """Return the value of a module's name, evaluating the statements that make it."""
        dotted = f"{module.name}.{name}"
        if dotted in self.known:
            return self.known[dotted]
        if name in module.values:
            return module.values[name]
        if name not in module.definitions:
            return self._outside(module, name)
        module.values[name] = Opaque(dotted)
        self._evaluated.add(module)
        frame = Frame(module, "<module>", module.values)
        self._defining += 1
        try:
            for definition in module.definitions[name]:
                if not definition.evaluated:
                    definition.evaluated = True
                    block(definition.statements)(self, frame)
        finally:
            self._defining -= 1
        return module.values[name]

    def _outside(self, module: Module, name: str) -> Any:
        """Return a name that a module does not bind itself: a submodule, or from a star import."""
        dotted = f"{module.name}.{name}"
        if (submodule := self.sources.module(dotted)) is not None:
            return submodule
        for definition in module.definitions.get("*", []):
            statement = definition.statements[0]
            if not isinstance(statement, ast.ImportFrom):
                continue
            origin = self.sources.module(origin_of(statement, module))
            if origin is not None and name in origin.definitions:
                return self.module_name(origin, name)
        return Opaque(dotted)

    def load(self, name: str, frame: Frame) -> Any:
        """Return the value of a bare name that is none of its frame's own."""
        if name in frame.outer:
            return frame.outer[name]
        loaded = frame.module.loaded
        if name in loaded:
            return loaded[name]
        value = self._global(name, frame.module)
        if not self._defining and not isinstance(value, Opaque):
            loaded[name] = value
        return value

    def _global(self, name: str, module: Module) -> Any:
        """Return what a name means in a module's functions."""
        if name in module.definitions or f"{module.name}.{name}" in self.known:
            return self.module_name(module, name)
        if name in BUILTINS:
            return BUILTINS[name]
        if f"builtins.{name}" in self.known:
            return self.known[f"builtins.{name}"]
        if "*" in module.definitions:
            return self._outside(module, name)
        if "Exception" in exception_bases(name) and name.endswith(("Error", "Exception")):
            return Opaque(name)
        return Opaque(f"{module.name}.{name}")

    # calls

    def call(self, target: Any, args: list[Any], kwargs: dict[str, Any]) -> Any:
        """Call anything callable; an unknown function gives an unknown value."""
        if isinstance(target, Method):
            return self.call_function(target.function, [target.subject, *args], kwargs)
        if isinstance(target, Function):
            return self.call_function(target, args, kwargs)
        if isinstance(target, External):
            return target.evaluate(self, args, kwargs)
        if isinstance(target, Class):
            return self.instantiate(target, args, kwargs)
        if isinstance(target, Opaque):
            return Opaque(f"{target.name}()")
        if target is str and len(args) == 1 and isinstance(args[0], (Raised, Instance)):
            return self.text(args[0])
        if callable(target):
            return call_python(target, args, kwargs)
        raise raised("TypeError", f"'{type(target).__name__}' object is not callable")

    def call_function(self, function: Function, args: list[Any], kwargs: dict[str, Any]) -> Any:
        """Evaluate a function's body with these arguments."""
        if function.kind == "cached":
            key = repr((args, sorted(kwargs.items(), key=lambda item: item[0])))
            if not function.cache:
                self._remembering.append(function)
            if key not in function.cache:
                function.cache[key] = self._evaluate_call(function, args, kwargs)
            return function.cache[key]
        return self._evaluate_call(function, args, kwargs)

    def _evaluate_call(self, function: Function, args: list[Any], kwargs: dict[str, Any]) -> Any:
        if self._depth > _MAX_DEPTH:
            return Opaque(f"{function.name}() nested too deep")
        code = function_code(function.node)
        self._depth += 1
        try:
            return code.run(self, code.bind(self, function, args, kwargs))
        except RecursionError:
            return Opaque(f"{function.name}() nested too deep")
        except Raised as error:
            error.frames.insert(0, f"{function.module.name}:{function.name}")
            raise
        finally:
            self._depth -= 1
