"""Evaluates functions of an engine's source: statements and expressions.

Plain data is computed by Python itself, so arithmetic and its errors are exact. Whatever depends
on something unknown becomes `Opaque`; a branch on an unknown condition is not taken, and what it
would have set is unknown afterwards. Nothing is imported, executed or written.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping
from typing import Any

from specpreflight.engines.source import builtin_functions  # noqa: F401 - fills BUILTINS
from specpreflight.engines.source.modules import Module, Sources, origin_of
from specpreflight.engines.source.natives import BUILTINS, call_python
from specpreflight.engines.source.statements import Return, Statements
from specpreflight.engines.source.values import (
    Class,
    External,
    Frame,
    Function,
    Method,
    Opaque,
    Raised,
    exception_bases,
    raised,
)

#: Evaluated calls may nest this deep; what goes deeper is unknown.
_MAX_DEPTH = 60


class Evaluator(Statements):
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
        for definition in module.definitions[name]:
            if not definition.evaluated:
                definition.evaluated = True
                self.run(definition.statements, frame)
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
        """Return the value of a bare name."""
        if name in frame.names:
            return frame.names[name]
        if name in frame.outer:
            return frame.outer[name]
        if name in frame.module.definitions or f"{frame.module.name}.{name}" in self.known:
            return self.module_name(frame.module, name)
        if name in BUILTINS:
            return BUILTINS[name]
        if f"builtins.{name}" in self.known:
            return self.known[f"builtins.{name}"]
        if "*" in frame.module.definitions:
            return self._outside(frame.module, name)
        if "Exception" in exception_bases(name) and name.endswith(("Error", "Exception")):
            return Opaque(name)
        return Opaque(f"{frame.module.name}.{name}")

    # calls

    def call(self, target: Any, args: list[Any], kwargs: dict[str, Any]) -> Any:
        """Call anything callable; an unknown function gives an unknown value."""
        if isinstance(target, Method):
            return self.call_function(target.function, [target.subject, *args], kwargs)
        if isinstance(target, Function):
            return self.call_function(target, args, kwargs)
        if isinstance(target, Class):
            return self.instantiate(target, args, kwargs)
        if isinstance(target, Opaque):
            return Opaque(f"{target.name}()")
        if isinstance(target, External):
            return target.evaluate(self, args, kwargs)
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
        frame = Frame(function.module, function.name, {}, function.owner, function.scope or {})
        self._depth += 1
        try:
            self._bind(function, args, kwargs, frame)
            if isinstance(function.node, ast.Lambda):
                return self.value(function.node.body, frame)
            self.run(function.node.body, frame)
        except Return as result:
            return result.value
        except Raised as error:
            error.frames.insert(0, f"{function.module.name}:{function.name}")
            raise
        finally:
            self._depth -= 1
        return None

    def _bind(
        self, function: Function, args: list[Any], kwargs: dict[str, Any], frame: Frame
    ) -> None:
        spec = function.node.args
        positional = [*spec.posonlyargs, *spec.args]
        names = [argument.arg for argument in positional]
        rest = dict(kwargs)
        if len(args) > len(names):
            if spec.vararg is None:
                raise raised(
                    "TypeError",
                    f"{function.name}() takes {len(names)} positional arguments "
                    f"but {len(args)} were given",
                )
            frame.names[spec.vararg.arg] = tuple(args[len(names) :])
        elif spec.vararg is not None:
            frame.names[spec.vararg.arg] = ()
        for name, value in zip(names, args, strict=False):
            if name in rest:
                raise raised(
                    "TypeError", f"{function.name}() got multiple values for argument '{name}'"
                )
            frame.names[name] = value
        defaults = dict(zip(names[len(names) - len(spec.defaults) :], spec.defaults, strict=False))
        defaults.update(
            (argument.arg, default)
            for argument, default in zip(spec.kwonlyargs, spec.kw_defaults, strict=True)
            if default is not None
        )
        where = Frame(function.module, function.name, {}, function.owner, function.scope or {})
        for name in [*names, *(argument.arg for argument in spec.kwonlyargs)]:
            if name in rest:
                frame.names[name] = rest.pop(name)
            elif name not in frame.names:
                if name not in defaults:
                    raise raised(
                        "TypeError",
                        f"{function.name}() missing 1 required positional argument: '{name}'",
                    )
                frame.names[name] = self.value(defaults[name], where)
        if spec.kwarg is not None:
            frame.names[spec.kwarg.arg] = rest
        elif rest:
            raise raised(
                "TypeError",
                f"{function.name}() got an unexpected keyword argument '{next(iter(rest))}'",
            )
