"""Evaluates expressions."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from specpreflight.engines.source.natives import call_python, is_plain
from specpreflight.engines.source.objects import Objects
from specpreflight.engines.source.values import (
    Class,
    External,
    Frame,
    Function,
    Instance,
    Opaque,
    Raised,
    raised,
    raised_by_python,
)

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


class Expressions(Objects):
    """The part of the evaluator that computes values."""

    def value(self, node: ast.expr, frame: Frame) -> Any:
        """Evaluate an expression."""
        if type(node) is ast.Name:
            return self.load(node.id, frame)
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
                return owner.subscript(self._evaluator(), key)
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
                found = right.contains(self._evaluator(), left)
            wanted = isinstance(operation, ast.In)
            return found if isinstance(found, Opaque) else found is wanted
        if isinstance(left, Opaque) or isinstance(right, Opaque):
            return Opaque(f"{left!r} {type(operation).__name__} {right!r}")
        if isinstance(right, (list, tuple)) and Opaque in map(type, right):
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
            return self._items_of(value)
        items: list[Any] = call_python(list, [value], {})
        return items

    def _items_of(self, value: Instance) -> list[Any]:
        """Return the items of a sequence; of another object, such as a config, its keys."""
        if not value.cls.has_method("__len__"):
            return list(value.attributes)
        length = self.call(self.get_attribute(value, "__len__"), [], {})
        if isinstance(length, Opaque):
            return []
        item = self.get_attribute(value, "__getitem__")
        return [self.call(item, [at], {}) for at in range(length)]


_EXPRESSIONS: Mapping[type[ast.expr], Callable[[Expressions, Any, Frame], Any]] = {
    ast.Constant: lambda _, node, frame: node.value,
    ast.Attribute: Expressions._attribute,
    ast.Call: Expressions._call,
    ast.Subscript: Expressions._subscript,
    ast.BoolOp: Expressions._boolean,
    ast.Compare: Expressions._compare,
    ast.IfExp: Expressions._conditional,
    ast.BinOp: Expressions._binary,
    ast.UnaryOp: Expressions._unary,
    ast.JoinedStr: Expressions._text_of,
    ast.Dict: Expressions._dict,
    ast.List: lambda evaluator, node, frame: evaluator._items(node.elts, frame),
    ast.Tuple: lambda evaluator, node, frame: tuple(evaluator._items(node.elts, frame)),
    ast.Set: lambda evaluator, node, frame: set(evaluator._items(node.elts, frame)),
    ast.ListComp: Expressions._comprehension,
    ast.GeneratorExp: Expressions._comprehension,
    ast.SetComp: lambda evaluator, node, frame: set(evaluator._comprehension(node, frame)),
    ast.DictComp: lambda evaluator, node, frame: dict(
        evaluator._comprehend(node.generators, frame, (node.key, node.value))
    ),
    ast.NamedExpr: Expressions._named,
    ast.Lambda: Expressions._lambda,
    ast.Slice: Expressions._slice,
}


@contextmanager
def python_errors() -> Iterator[None]:
    """Turn what plain Python raises into what the evaluated code would raise."""
    try:
        yield
    except TypeError as error:
        raise raised_by_python(error) from error
