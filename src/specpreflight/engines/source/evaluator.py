"""Evaluates functions of an engine's source: statements and expressions.

Plain data is computed by Python itself, so arithmetic and its errors are exact. Whatever depends
on something unknown becomes `Opaque`; a branch on an unknown condition is not taken, and what it
would have set is unknown afterwards. Nothing is imported, executed or written.
"""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from specpreflight.engines.source.modules import Module, Sources
from specpreflight.engines.source.natives import BUILTINS, call_python, is_plain
from specpreflight.engines.source.objects import Objects
from specpreflight.engines.source.values import (
    Class,
    External,
    Function,
    Instance,
    Method,
    Opaque,
    Raised,
    exception_bases,
    raised,
    raised_by_python,
)

#: Evaluated calls may nest this deep; what goes deeper is unknown.
_MAX_DEPTH = 60

_BINARY: Mapping[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.Pow: operator.pow,
    ast.BitOr: operator.or_,
    ast.BitAnd: operator.and_,
}

_COMPARE: Mapping[type[ast.cmpop], Callable[[Any, Any], Any]] = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.Is: operator.is_,
    ast.IsNot: operator.is_not,
    ast.In: lambda item, items: item in items,
    ast.NotIn: lambda item, items: item not in items,
}


class _Return(Exception):
    def __init__(self, value: Any) -> None:
        self.value = value


class _Break(Exception):
    pass


class _Continue(Exception):
    pass


@dataclass(slots=True)
class Frame:
    """One call: its names, and where they are looked up next."""

    module: Module
    function: str
    names: dict[str, Any]
    owner: Class | None = None
    outer: Mapping[str, Any] = field(default_factory=dict)


class Evaluator(Objects):
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
        self._depth = 0

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
            origin = self.sources.module(self._origin(statement, module))
            if origin is not None and name in origin.definitions:
                return self.module_name(origin, name)
        return Opaque(dotted)

    def module_attribute(self, module: Any, name: str) -> Any:
        """Return a name of a module."""
        return self.module_name(module, name)

    @staticmethod
    def _origin(node: ast.ImportFrom, module: Module) -> str:
        if not node.level:
            return node.module or ""
        parts = module.package.split(".")
        base = ".".join(parts[: len(parts) - node.level + 1])
        return f"{base}.{node.module or ''}".rstrip(".")

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
        except _Return as result:
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

    # statements

    def run(self, body: list[ast.stmt], frame: Frame) -> None:
        """Evaluate statements in order."""
        for statement in body:
            self.statement(statement, frame)

    def statement(self, node: ast.stmt, frame: Frame) -> None:
        """Evaluate one statement."""
        match node:
            case ast.Expr():
                self.value(node.value, frame)
            case ast.Assign():
                value = self.value(node.value, frame)
                for target in node.targets:
                    self.assign(target, value, frame)
            case ast.AnnAssign():
                if node.value is not None:
                    self.assign(node.target, self.value(node.value, frame), frame)
            case ast.AugAssign():
                load = ast.copy_location(_as_load(node.target), node)
                before, after = self.value(load, frame), self.value(node.value, frame)
                self.assign(node.target, self.binary(node.op, before, after), frame)
            case ast.If():
                self._branch(node, frame)
            case ast.Return():
                raise _Return(None if node.value is None else self.value(node.value, frame))
            case ast.For():
                self._loop(node, frame)
            case ast.While():
                self._while(node, frame)
            case ast.Raise():
                raise self._exception(node, frame)
            case ast.Assert():
                self._assert(node, frame)
            case ast.Try():
                self._try(node, frame)
            case ast.With():
                self._with(node, frame)
            case ast.FunctionDef():
                frame.names[node.name] = self.define(node, frame)
            case ast.ClassDef():
                frame.names[node.name] = self.define_class(node, frame)
            case ast.Import() | ast.ImportFrom():
                self._import(node, frame)
            case ast.Delete():
                for target in node.targets:
                    self._delete(target, frame)
            case ast.Break():
                raise _Break
            case ast.Continue():
                raise _Continue
            case ast.Pass() | ast.Global() | ast.Nonlocal():
                pass
            case _:
                self.doubts.append(f"{frame.module.name}:{frame.function}: {type(node).__name__}")

    def _branch(self, node: ast.If, frame: Frame) -> None:
        test = self.value(node.test, frame)
        truth = self.truth(test)
        if truth is None:
            self.doubts.append(f"{frame.module.name}:{frame.function}: {test!r}")
            self._forget([*node.body, *node.orelse], frame)
        else:
            self.run(node.body if truth else node.orelse, frame)

    def _forget(self, body: list[ast.stmt], frame: Frame) -> None:
        """Make unknown what statements that may or may not run would have set."""
        for statement in body:
            for inner in ast.walk(statement):
                if isinstance(inner, (ast.Assign, ast.AnnAssign, ast.AugAssign)):
                    targets = inner.targets if isinstance(inner, ast.Assign) else [inner.target]
                    for target in targets:
                        if isinstance(target, (ast.Name, ast.Attribute)):
                            self.assign(target, Opaque(ast.unparse(target)), frame)

    def _loop(self, node: ast.For, frame: Frame) -> None:
        items = self.value(node.iter, frame)
        if isinstance(items, (Opaque, Instance)):
            self.doubts.append(f"{frame.module.name}:{frame.function}: loop over {items!r}")
            self._forget(node.body, frame)
            return
        for item in self.iterate(items):
            self.assign(node.target, item, frame)
            try:
                self.run(node.body, frame)
            except _Break:
                return
            except _Continue:
                continue
        self.run(node.orelse, frame)

    def _while(self, node: ast.While, frame: Frame) -> None:
        for _ in range(10_000):
            if not self.truth(self.value(node.test, frame)):
                return
            try:
                self.run(node.body, frame)
            except _Break:
                return
            except _Continue:
                continue

    def _exception(self, node: ast.Raise, frame: Frame) -> Raised:
        if node.exc is None:
            current = frame.names.get("<exception>")
            return current if isinstance(current, Raised) else raised("RuntimeError", "")
        if isinstance(node.exc, ast.Call):
            name = _last_name(node.exc.func)
            args = [self.value(argument, frame) for argument in node.exc.args]
            if args and name == "KeyError":
                return raised(name, repr(args[0]))
            return raised(name, self.text(args[0]) if args else "")
        value = self.value(node.exc, frame)
        return value if isinstance(value, Raised) else raised(_last_name(node.exc), "")

    def _assert(self, node: ast.Assert, frame: Frame) -> None:
        if self.truth(self.value(node.test, frame)) is False:
            message = "" if node.msg is None else self.text(self.value(node.msg, frame))
            raise raised("AssertionError", message)

    def _try(self, node: ast.Try, frame: Frame) -> None:
        try:
            self.run(node.body, frame)
        except Raised as error:
            for handler in node.handlers:
                if _catches(handler, error):
                    frame.names["<exception>"] = error
                    if handler.name:
                        frame.names[handler.name] = error
                    self.run(handler.body, frame)
                    break
            else:
                raise
        else:
            self.run(node.orelse, frame)
        finally:
            self.run(node.finalbody, frame)

    def _with(self, node: ast.With, frame: Frame) -> None:
        suppressed: set[str] = set()
        for item in node.items:
            call = item.context_expr
            if isinstance(call, ast.Call) and _last_name(call.func) == "suppress":
                suppressed.update(_last_name(argument) for argument in call.args)
                continue
            value = self.value(call, frame)
            if item.optional_vars is not None:
                self.assign(item.optional_vars, value, frame)
        try:
            self.run(node.body, frame)
        except Raised as error:
            if not suppressed & error.bases:
                raise

    def _import(self, node: ast.Import | ast.ImportFrom, frame: Frame) -> None:
        names = [node.module or ""] if isinstance(node, ast.ImportFrom) else []
        for name in names or [alias.name for alias in node.names]:
            package = name.split(".")[0]
            if package in self.absent:
                raise raised("ModuleNotFoundError", f"No module named '{package}'")
        if isinstance(node, ast.Import):
            for alias in node.names:
                if alias.asname:
                    frame.names[alias.asname] = self.find(alias.name)
                else:
                    root = alias.name.split(".")[0]
                    frame.names[root] = self.find(root)
            return
        origin = self._origin(node, frame.module)
        for alias in node.names:
            if alias.name != "*":
                frame.names[alias.asname or alias.name] = self.find(f"{origin}.{alias.name}")

    def _delete(self, target: ast.expr, frame: Frame) -> None:
        if isinstance(target, ast.Name):
            frame.names.pop(target.id, None)
        elif isinstance(target, ast.Attribute):
            self.delete_attribute(self.value(target.value, frame), target.attr)
        elif isinstance(target, ast.Subscript):
            owner, key = self.value(target.value, frame), self.value(target.slice, frame)
            call_python(operator.delitem, [owner, key], {})

    def assign(self, target: ast.expr, value: Any, frame: Frame) -> None:
        """Bind a target of an assignment."""
        match target:
            case ast.Name():
                frame.names[target.id] = value
            case ast.Attribute():
                self.set_attribute(self.value(target.value, frame), target.attr, value)
            case ast.Subscript():
                owner = self.value(target.value, frame)
                if not isinstance(owner, (External, Opaque)):
                    key = self.value(target.slice, frame)
                    call_python(operator.setitem, [owner, key, value], {})
            case ast.Tuple() | ast.List():
                items: list[Any] = (
                    [value] * len(target.elts)
                    if isinstance(value, Opaque)
                    else list(self.iterate(value))
                )
                for inner, item in zip(target.elts, items, strict=False):
                    self.assign(inner, item, frame)

    # expressions

    def value(self, node: ast.expr, frame: Frame) -> Any:
        """Evaluate an expression."""
        evaluate = _EXPRESSIONS.get(type(node))
        return Opaque(ast.unparse(node)) if evaluate is None else evaluate(self, node, frame)

    def _attribute(self, node: ast.Attribute, frame: Frame) -> Any:
        return self.get_attribute(self.value(node.value, frame), node.attr)

    def _conditional(self, node: ast.IfExp, frame: Frame) -> Any:
        truth = self.truth(self.value(node.test, frame))
        if truth is None:
            return Opaque(ast.unparse(node))
        return self.value(node.body if truth else node.orelse, frame)

    def _binary(self, node: ast.BinOp, frame: Frame) -> Any:
        left, right = self.value(node.left, frame), self.value(node.right, frame)
        return self.binary(node.op, left, right)

    def _text_of(self, node: ast.JoinedStr, frame: Frame) -> str:
        return "".join(self._formatted(part, frame) for part in node.values)

    def _named(self, node: ast.NamedExpr, frame: Frame) -> Any:
        value = self.value(node.value, frame)
        self.assign(node.target, value, frame)
        return value

    def _lambda(self, node: ast.Lambda, frame: Frame) -> Function:
        scope = {**frame.outer, **frame.names}
        return Function(node, frame.module, "<lambda>", frame.owner, scope=scope)

    def _slice(self, node: ast.Slice, frame: Frame) -> slice:
        bounds = (node.lower, node.upper, node.step)
        return slice(*(None if b is None else self.value(b, frame) for b in bounds))

    def _comprehension(
        self, node: ast.ListComp | ast.GeneratorExp | ast.SetComp, frame: Frame
    ) -> list[Any]:
        return list(self._comprehend(node.generators, frame, (node.elt,)))

    def truth(self, value: Any) -> bool | None:
        """Return the truth of a value, `None` where it is unknown."""
        if isinstance(value, Opaque):
            return None
        return bool(value)

    def text(self, value: Any) -> str:
        """Return `str(value)` as the evaluated code would see it."""
        if isinstance(value, Raised):
            return value.message
        if isinstance(value, Instance):
            printer = self.look_up(value.cls.order, "__repr__")
            if isinstance(printer, (Function, External)):
                return str(self.call(printer, [value], {}))
        return str(value)

    def binary(self, operation: ast.operator, left: Any, right: Any) -> Any:
        """Apply a binary operator."""
        if isinstance(left, Opaque) or isinstance(right, Opaque):
            return Opaque(f"{left!r} {type(operation).__name__} {right!r}")
        function = _BINARY.get(type(operation))
        if function is None or not (is_plain(left) and is_plain(right)):
            return Opaque(f"{left!r} {type(operation).__name__} {right!r}")
        return call_python(function, [left, right], {})

    def _call(self, node: ast.Call, frame: Frame) -> Any:
        if isinstance(node.func, ast.Name) and node.func.id == "super":
            return self.super_of(node, frame)
        target = self.value(node.func, frame)
        args: list[Any] = []
        for argument in node.args:
            if isinstance(argument, ast.Starred):
                args.extend(self.iterate(self.value(argument.value, frame)))
            else:
                args.append(self.value(argument, frame))
        kwargs: dict[str, Any] = {}
        for keyword in node.keywords:
            value = self.value(keyword.value, frame)
            if keyword.arg is not None:
                kwargs[keyword.arg] = value
            elif isinstance(value, dict):
                kwargs.update(value)
            elif not isinstance(value, Opaque):
                raise raised(
                    "TypeError",
                    f"{ast.unparse(node.func)}() argument after ** must be a mapping, "
                    f"not {type(value).__name__}",
                )
        return self.call(target, args, kwargs)

    def _subscript(self, node: ast.Subscript, frame: Frame) -> Any:
        owner = self.value(node.value, frame)
        if isinstance(owner, (Class, type)):
            return owner
        if isinstance(owner, Opaque):
            return Opaque(ast.unparse(node))
        key = self.value(node.slice, frame)
        if isinstance(owner, External):
            with python_errors():
                return owner.subscript(self, key)
        if isinstance(key, Opaque):
            return Opaque(ast.unparse(node))
        if isinstance(owner, Instance):
            return self.call(self.get_attribute(owner, "__getitem__"), [key], {})
        return call_python(operator.getitem, [owner, key], {})

    def _boolean(self, node: ast.BoolOp, frame: Frame) -> Any:
        stop = isinstance(node.op, ast.Or)
        unknown: Opaque | None = None
        value: Any = None
        for part in node.values:
            value = self.value(part, frame)
            truth = self.truth(value)
            if truth is None:
                unknown = value if unknown is None else unknown
            elif truth is stop:
                return value
        return value if unknown is None else unknown

    def _compare(self, node: ast.Compare, frame: Frame) -> Any:
        left = self.value(node.left, frame)
        result: Any = True
        for operation, comparator in zip(node.ops, node.comparators, strict=True):
            right = self.value(comparator, frame)
            result = self._compare_two(operation, left, right)
            if isinstance(result, Opaque) or not result:
                return result
            left = right
        return result

    def _compare_two(self, operation: ast.cmpop, left: Any, right: Any) -> Any:
        if isinstance(operation, (ast.In, ast.NotIn)) and isinstance(right, External):
            with python_errors():
                found = right.contains(self, left)
            wanted = isinstance(operation, ast.In)
            return found if isinstance(found, Opaque) else found is wanted
        if isinstance(left, Opaque) or isinstance(right, Opaque):
            return Opaque(f"{left!r} {type(operation).__name__} {right!r}")
        if isinstance(right, (list, tuple)) and any(isinstance(i, Opaque) for i in right):
            known = [item for item in right if not isinstance(item, Opaque)]
            if isinstance(operation, (ast.In, ast.NotIn)) and left in known:
                return isinstance(operation, ast.In)
            return Opaque(f"{left!r} {type(operation).__name__} {right!r}")
        return call_python(_COMPARE[type(operation)], [left, right], {})

    def _unary(self, node: ast.UnaryOp, frame: Frame) -> Any:
        value = self.value(node.operand, frame)
        if isinstance(node.op, ast.Not):
            truth = self.truth(value)
            return Opaque(f"not {value!r}") if truth is None else not truth
        if isinstance(value, Opaque):
            return value
        operation = operator.neg if isinstance(node.op, ast.USub) else operator.pos
        return call_python(operation, [value], {})

    def _formatted(self, part: ast.expr, frame: Frame) -> str:
        if isinstance(part, ast.Constant):
            return str(part.value)
        assert isinstance(part, ast.FormattedValue)
        value = self.value(part.value, frame)
        if part.conversion == ord("r"):
            return repr(value)
        if part.format_spec is not None and is_plain(value):
            spec = self.value(part.format_spec, frame)
            return str(call_python(format, [value, spec], {}))
        return self.text(value)

    def _dict(self, node: ast.Dict, frame: Frame) -> dict[Any, Any]:
        result: dict[Any, Any] = {}
        for key, value_node in zip(node.keys, node.values, strict=True):
            value = self.value(value_node, frame)
            if key is not None:
                result[self.value(key, frame)] = value
            elif isinstance(value, dict):
                result.update(value)
        return result

    def _items(self, nodes: list[ast.expr], frame: Frame) -> list[Any]:
        if all(type(node) is ast.Constant for node in nodes):
            return [node.value for node in nodes if isinstance(node, ast.Constant)]
        items: list[Any] = []
        for node in nodes:
            if isinstance(node, ast.Starred):
                items.extend(self.iterate(self.value(node.value, frame)))
            else:
                items.append(self.value(node, frame))
        return items

    def _comprehend(
        self, generators: list[ast.comprehension], frame: Frame, wanted: tuple[ast.expr, ...]
    ) -> Iterator[Any]:
        if not generators:
            values = tuple(self.value(node, frame) for node in wanted)
            yield values[0] if len(values) == 1 else values
            return
        first, rest = generators[0], generators[1:]
        inner = Frame(frame.module, frame.function, dict(frame.names), frame.owner, frame.outer)
        for item in self.iterate(self.value(first.iter, inner)):
            self.assign(first.target, item, inner)
            if all(self.truth(self.value(test, inner)) for test in first.ifs):
                yield from self._comprehend(rest, inner, wanted)

    def iterate(self, value: Any) -> list[Any]:
        """Return the items of anything iterable; none where it is unknown."""
        if isinstance(value, Opaque):
            return []
        if isinstance(value, Instance):
            return list(value.attributes)
        items: list[Any] = call_python(list, [value], {})
        return items


_EXPRESSIONS: Mapping[type[ast.expr], Callable[[Evaluator, Any, Frame], Any]] = {
    ast.Constant: lambda _, node, frame: node.value,
    ast.Name: lambda evaluator, node, frame: evaluator.load(node.id, frame),
    ast.Attribute: Evaluator._attribute,
    ast.Call: Evaluator._call,
    ast.Subscript: Evaluator._subscript,
    ast.BoolOp: Evaluator._boolean,
    ast.Compare: Evaluator._compare,
    ast.IfExp: Evaluator._conditional,
    ast.BinOp: Evaluator._binary,
    ast.UnaryOp: Evaluator._unary,
    ast.JoinedStr: Evaluator._text_of,
    ast.Dict: Evaluator._dict,
    ast.List: lambda evaluator, node, frame: evaluator._items(node.elts, frame),
    ast.Tuple: lambda evaluator, node, frame: tuple(evaluator._items(node.elts, frame)),
    ast.Set: lambda evaluator, node, frame: set(evaluator._items(node.elts, frame)),
    ast.ListComp: Evaluator._comprehension,
    ast.GeneratorExp: Evaluator._comprehension,
    ast.SetComp: lambda evaluator, node, frame: set(evaluator._comprehension(node, frame)),
    ast.DictComp: lambda evaluator, node, frame: dict(
        evaluator._comprehend(node.generators, frame, (node.key, node.value))
    ),
    ast.NamedExpr: Evaluator._named,
    ast.Lambda: Evaluator._lambda,
    ast.Slice: Evaluator._slice,
}


def _as_load(target: ast.expr) -> ast.expr:
    clone: ast.expr = ast.parse(ast.unparse(target), mode="eval").body
    return clone


def _last_name(node: ast.expr) -> str:
    if isinstance(node, ast.Attribute):
        return node.attr
    return node.id if isinstance(node, ast.Name) else ast.unparse(node)


def _catches(handler: ast.ExceptHandler, error: Raised) -> bool:
    if handler.type is None:
        return True
    kinds = handler.type.elts if isinstance(handler.type, ast.Tuple) else [handler.type]
    return any(_last_name(kind) in error.bases for kind in kinds)


@contextmanager
def python_errors() -> Iterator[None]:
    """Turn what plain Python raises into what the evaluated code would raise."""
    try:
        yield
    except TypeError as error:
        raise raised_by_python(error) from error
