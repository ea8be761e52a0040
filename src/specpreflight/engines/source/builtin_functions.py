"""Built-in functions that look at objects and classes of the evaluated source."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from specpreflight.engines.source.natives import BUILTINS, call_python
from specpreflight.engines.source.objects import is_guess
from specpreflight.engines.source.operations import truth
from specpreflight.engines.source.strict import fields
from specpreflight.engines.source.values import (
    Class,
    DataclassConstructor,
    External,
    Function,
    Instance,
    Method,
    Opaque,
    Raised,
    Special,
    raised,
)

if TYPE_CHECKING:
    from specpreflight.engines.source.evaluator import Evaluator

#: More than any model has layers, experts or heads; going through so many takes a moment.
_MOST_ROUNDS = 100_000


def _class_method(evaluator: Evaluator, args: list[Any], kwargs: dict[str, Any]) -> Any:
    function = args[0]
    return replace(function, kind="classmethod") if isinstance(function, Function) else function


def _getattr(evaluator: Evaluator, args: list[Any], kwargs: dict[str, Any]) -> Any:
    subject, name, *default = args
    if isinstance(name, Opaque):
        return Opaque("getattr()")
    if default and evaluator.lacks(subject, name):
        return default[0]
    try:
        found = evaluator.get_attribute(subject, name)
    except Raised as error:
        if default and "AttributeError" in error.bases:
            return default[0]
        raise
    return default[0] if default and is_guess(subject, name, found) else found


def _is_instance(evaluator: Evaluator, args: list[Any], kwargs: dict[str, Any]) -> Any:
    value, kinds = args
    if isinstance(value, Opaque):
        return Opaque("isinstance()")
    return any(_is_a(value, kind) for kind in (kinds if isinstance(kinds, tuple) else (kinds,)))


def _is_a(value: Any, kind: Any) -> bool:
    if isinstance(kind, Class):
        return isinstance(value, Instance) and kind in value.cls.order
    if isinstance(kind, type):
        return isinstance(value, kind)
    return False


def _is_subclass(evaluator: Evaluator, args: list[Any], kwargs: dict[str, Any]) -> Any:
    value, kind = args
    return isinstance(value, Class) and kind in value.order


def _vars(evaluator: Evaluator, args: list[Any], kwargs: dict[str, Any]) -> Any:
    subject = args[0]
    return subject.attributes if isinstance(subject, Instance) else Opaque("vars()")


def _type(evaluator: Evaluator, args: list[Any], kwargs: dict[str, Any]) -> Any:
    subject = args[0]
    if isinstance(subject, Instance):
        return subject.cls
    return subject if isinstance(subject, Opaque) else type(subject)


def _callable(evaluator: Evaluator, args: list[Any], kwargs: dict[str, Any]) -> Any:
    subject = args[0]
    return isinstance(subject, (Function, Method, Class)) or callable(subject)


class Signature(External):
    """What `inspect.signature` gives; only the names of the parameters are known."""

    def __init__(self, names: list[str]) -> None:
        self._names = names

    def attribute(self, evaluator: Evaluator, name: str) -> Any:
        """Return the parameters by name."""
        return dict.fromkeys(self._names) if name == "parameters" else Opaque(f"signature.{name}")


def signature(evaluator: Evaluator, args: list[Any], kwargs: dict[str, Any]) -> Any:
    """Return `inspect.signature(function)`."""
    function = args[0]
    if isinstance(function, DataclassConstructor):
        return Signature(["self", *fields(function.cls)])
    if isinstance(function, Function):
        spec = function.node.args
        extra = [argument for argument in (spec.vararg, spec.kwarg) if argument is not None]
        everything = [*spec.posonlyargs, *spec.args, *spec.kwonlyargs, *extra]
        return Signature([argument.arg for argument in everything])
    return Opaque("inspect.signature()")


def _filter(evaluator: Evaluator, args: list[Any], kwargs: dict[str, Any]) -> Any:
    test, items = args
    return [item for item in evaluator.iterate(items) if _keeps(evaluator, test, item)]


def _keeps(evaluator: Evaluator, test: Any, item: Any) -> bool:
    return bool(item if test is None else truth(evaluator.call(test, [item], {})))


def _map(evaluator: Evaluator, args: list[Any], kwargs: dict[str, Any]) -> Any:
    return [evaluator.call(args[0], [item], {}) for item in evaluator.iterate(args[1])]


def _len(evaluator: Evaluator, args: list[Any], kwargs: dict[str, Any]) -> Any:
    (subject,) = args
    if not isinstance(subject, Instance):
        return call_python(len, args, kwargs)
    if not subject.cls.has_method("__len__"):
        if any(isinstance(base, Opaque) for cls in subject.cls.order for base in cls.bases):
            return Opaque("len()")
        raise raised("TypeError", f"object of type '{subject.cls.name}' has no len()")
    return evaluator.call(evaluator.get_attribute(subject, "__len__"), [], {})


def _range(evaluator: Evaluator, args: list[Any], kwargs: dict[str, Any]) -> Any:
    """Return a range; one that would take seconds to go through is unknown."""
    found = call_python(range, args, kwargs)
    if isinstance(found, range) and found[_MOST_ROUNDS:]:
        return Opaque(f"all of {found!r}")
    return found


def _sorted(evaluator: Evaluator, args: list[Any], kwargs: dict[str, Any]) -> Any:
    key = kwargs.get("key")
    if key is None or isinstance(args[0], Opaque):
        return call_python(sorted, args, kwargs)
    items = evaluator.iterate(args[0])
    keys = [evaluator.call(key, [item], {}) for item in items]
    if any(isinstance(one, Opaque) for one in keys):
        return Opaque("sorted()")
    options = {"key": keys.__getitem__, "reverse": kwargs.get("reverse", False)}
    return [items[at] for at in call_python(sorted, [range(len(items))], options)]


def _set(evaluator: Evaluator, args: list[Any], kwargs: dict[str, Any]) -> None:
    evaluator.set_attribute(args[0], args[1], args[2])


def _has(evaluator: Evaluator, args: list[Any], kwargs: dict[str, Any]) -> Any:
    return evaluator.has_attribute(args[0], args[1])


BUILTINS.update(
    {
        "getattr": Special(_getattr),
        "setattr": Special(_set),
        "hasattr": Special(_has),
        "isinstance": Special(_is_instance),
        "issubclass": Special(_is_subclass),
        "vars": Special(_vars),
        "type": Special(_type),
        "callable": Special(_callable),
        "classmethod": Special(_class_method),
        "filter": Special(_filter),
        "map": Special(_map),
        "len": Special(_len),
        "range": Special(_range),
        "sorted": Special(_sorted),
        "int": int,
        "object": object,
    }
)
