"""Plain Python data and the built-in functions that evaluated code may use on it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from specpreflight.engines.source.values import (
    Class,
    Dtype,
    Function,
    Instance,
    Opaque,
    Raised,
    Undecided,
    raised,
    raised_by_python,
)

_PLAIN = (
    type(None), bool, int, float, str, bytes, list, dict, tuple, set, frozenset, Dtype, slice,
    range,
)  # fmt: skip
#: The same, to be looked up by exact type.
PLAIN_TYPES: Final[frozenset[type]] = frozenset(_PLAIN)

#: Built-in functions that only compute; those that see objects are in `objects.py`.
_PURE: Mapping[str, Callable[..., Any]] = {
    function.__name__: function
    for function in (
        abs, bool, dict, enumerate, float, frozenset, int, len, list, max, min, range,
        repr, reversed, round, set, sorted, str, sum, tuple, zip,
    )
}  # fmt: skip

#: Iterators are turned into lists, so that evaluated code may look at them twice.
_LAZY = frozenset({enumerate, zip, reversed, map, filter, type(reversed([]))})


def is_plain(value: Any) -> bool:
    """Return whether Python itself can compute with a value."""
    return type(value) in PLAIN_TYPES or isinstance(value, _PLAIN)


def call_python(function: Callable[..., Any], args: list[Any], kwargs: dict[str, Any]) -> Any:
    """Call a Python function on plain data; its errors are those of the evaluated code.

    An unknown argument makes the result unknown.
    """
    unknown = Opaque in map(type, args) or (kwargs and Opaque in map(type, kwargs.values()))
    if unknown and not getattr(function, "takes_unknown", False):
        return Opaque(f"{getattr(function, '__name__', repr(function))}()")
    try:
        result = function(*args, **kwargs)
        return list(result) if type(result) in _LAZY else result
    except Raised:
        raise
    except Undecided:
        return Opaque(f"{getattr(function, '__name__', repr(function))}()")
    except Exception as error:
        raise raised_by_python(error) from error


def plain_attribute(value: Any, name: str) -> Any:
    """Return a method of plain data."""
    if name.startswith("__") or not is_plain(value):
        raise raised("AttributeError", f"'{_type_name(value)}' object has no attribute '{name}'")
    try:
        attribute = getattr(value, name)
    except AttributeError as error:
        raise raised_by_python(error) from error
    if isinstance(value, (dict, list, set)) and callable(attribute):
        return _ContainerMethod(value, name)
    return attribute


#: Types whose methods may store unknown values.
CONTAINERS: Final[frozenset[type]] = frozenset({dict, list, set})


def call_container(value: Any, name: str, args: list[Any], kwargs: dict[str, Any]) -> Any:
    """Call a method of a list, dict or set; its errors are those of the evaluated code."""
    if not hasattr(value, name) or name.startswith("__"):
        return plain_attribute(value, name)
    try:
        result = getattr(value, name)(*args, **kwargs)
    except Undecided:
        return Opaque(f"{name}()")
    except Exception as error:
        raise raised_by_python(error) from error
    return list(result) if name in ("items", "keys", "values") else result


class _ContainerMethod:
    """A method of a list, dict or set that is called later."""

    takes_unknown = True

    def __init__(self, value: Any, name: str) -> None:
        self._value = value
        self.__name__ = name

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return call_container(self._value, self.__name__, list(args), kwargs)


def _type_name(value: Any) -> str:
    if isinstance(value, Instance):
        return value.cls.name
    if isinstance(value, Class):
        return "type"
    return "function" if isinstance(value, Function) else type(value).__name__


def _any(items: Any) -> Any:
    """Return `any(items)`, unknown where only an unknown item could make it true."""
    if any(not isinstance(item, Opaque) and item for item in items):
        return True
    return Opaque("any()") if any(isinstance(item, Opaque) for item in items) else False


def _all(items: Any) -> Any:
    """Return `all(items)`, unknown where only an unknown item could make it false."""
    if any(not isinstance(item, Opaque) and not item for item in items):
        return False
    return Opaque("all()") if any(isinstance(item, Opaque) for item in items) else True


BUILTINS: dict[str, Any] = {
    "any": _any,
    "all": _all,
    "True": True,
    "False": False,
    "None": None,
    **_PURE,
}
