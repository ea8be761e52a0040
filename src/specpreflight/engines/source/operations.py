"""What operators do with values of the evaluated source, unknown ones included."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Final

from specpreflight.engines.source.natives import CONTAINERS, call_python, is_plain
from specpreflight.engines.source.objects import Objects
from specpreflight.engines.source.values import (
    Class,
    External,
    Function,
    Instance,
    Opaque,
    Raised,
    raised_by_python,
)

BINARY: Final[Mapping[type[ast.operator], Callable[[Any, Any], Any]]] = {
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

COMPARE: Final[Mapping[type[ast.cmpop], Callable[[Any, Any], Any]]] = {
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


def truth(value: Any) -> bool | None:
    """Return the truth of a value, `None` where it is unknown."""
    return None if type(value) is Opaque else bool(value)


class Operations(Objects):
    """The part of the evaluator that computes with values."""

    def text(self, value: Any) -> str:
        """Return `str(value)` as the evaluated code would see it."""
        if isinstance(value, Raised):
            return value.message
        if isinstance(value, Instance):
            printer = self.look_up(value.cls.order, "__repr__")
            if isinstance(printer, (Function, External)):
                return str(self.call(printer, [value], {}))
        return str(value)

    def binary(self, operation: type[ast.operator], left: Any, right: Any) -> Any:
        """Apply a binary operator."""
        function = BINARY.get(operation)
        known = not (isinstance(left, Opaque) or isinstance(right, Opaque))
        if function is None or not (known and is_plain(left) and is_plain(right)):
            return Opaque(f"{left!r} {operation.__name__} {right!r}")
        return call_python(function, [left, right], {})

    def compare(self, operation: type[ast.cmpop], left: Any, right: Any) -> Any:
        """Apply a comparison."""
        if operation in (ast.In, ast.NotIn) and isinstance(right, External):
            with _python_errors():
                found = right.contains(self._evaluator(), left)
            return found if isinstance(found, Opaque) else found is (operation is ast.In)
        if isinstance(left, Opaque) or isinstance(right, Opaque):
            return Opaque(f"{left!r} {operation.__name__} {right!r}")
        if isinstance(right, (list, tuple)) and Opaque in map(type, right):
            known = [item for item in right if not isinstance(item, Opaque)]
            if operation in (ast.In, ast.NotIn) and left in known:
                return operation is ast.In
            return Opaque(f"{left!r} {operation.__name__} {right!r}")
        return call_python(COMPARE[operation], [left, right], {})

    def item(self, owner: Any, key: Any, node: ast.Subscript) -> Any:
        """Return `owner[key]`, which `node` asks for."""
        if isinstance(owner, External):
            with _python_errors():
                return owner.subscript(self._evaluator(), key)
        if isinstance(key, Opaque):
            return Opaque(ast.unparse(node))
        if isinstance(owner, Instance):
            return self.call(self.get_attribute(owner, "__getitem__"), [key], {})
        return call_python(operator.getitem, [owner, key], {})

    def iterate(self, value: Any) -> list[Any]:
        """Return the items of anything iterable; none where it is unknown."""
        if type(value) in CONTAINERS or type(value) is tuple:
            return list(value)
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


def is_generic(owner: Any) -> bool:
    """Return whether a subscript of this makes a type of it (`list[int]`)."""
    return isinstance(owner, (Class, type))


@contextmanager
def _python_errors() -> Iterator[None]:
    """Turn what plain Python raises into what the evaluated code would raise."""
    try:
        yield
    except TypeError as error:
        raise raised_by_python(error) from error
