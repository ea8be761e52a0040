"""`@dataclass(frozen=True, slots=True)`, made in a fifth of the time.

`dataclasses` compiles the text of six methods for each class when its module is imported, 0.6 ms
and more a class: for the values of a report that was an eighth of a whole check. Here the
constructor alone is compiled. The other methods do what the standard library's do, in the same
code for all classes. `fields`, `replace`, `asdict`, copying, pickling and type checkers see an
ordinary dataclass.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from dataclasses import MISSING, FrozenInstanceError, fields
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Literal, NoReturn

if TYPE_CHECKING:
    from dataclasses import dataclass as dataclass
else:

    def dataclass(
        *, frozen: Literal[True], slots: Literal[True]
    ) -> Callable[[type[Any]], type[Any]]:
        """Return the decorator; it takes no other options, and fields that `__init__` sets."""
        return _make


def _make(cls: type[Any]) -> type[Any]:
    made: Any = dataclasses.dataclass(init=False, repr=False, eq=False, slots=True)(cls)
    names: tuple[str, ...] = made.__match_args__
    get: Callable[[Any], Any] = attrgetter(*names)
    values: Callable[[Any], tuple[Any, ...]] = get if len(names) > 1 else lambda self: (get(self),)

    def __eq__(self: Any, other: object) -> bool:
        same = other.__class__ is self.__class__
        return values(self) == values(other) if same else NotImplemented

    def __hash__(self: Any) -> int:
        return hash(values(self))

    def __repr__(self: Any) -> str:
        shown = ", ".join(map("{}={!r}".format, names, values(self)))
        return f"{made.__qualname__}({shown})"

    def __reduce__(self: Any) -> tuple[type[Any], tuple[Any, ...]]:
        return made, values(self)

    made.__init__ = _constructor(made)
    made.__setattr__ = made.__delattr__ = _refuse
    made.__eq__, made.__hash__, made.__repr__ = __eq__, __hash__, __repr__
    made.__reduce__ = __reduce__
    return made  # type: ignore[no-any-return]


def _refuse(self: object, name: str, value: object = None) -> NoReturn:
    raise FrozenInstanceError(f"cannot change field {name!r}")


def _constructor(made: Any) -> Callable[..., None]:
    """Compile `__init__`, which sets each field through its slot; nothing else can."""
    space: dict[str, Any] = {"MISSING": MISSING}
    parameters, lines = ["self"], []
    for field in fields(made):
        name, given = field.name, field.name
        space[f"set_{name}"] = getattr(made, name).__set__
        if field.default_factory is not MISSING:
            space[f"make_{name}"] = field.default_factory
            parameters.append(f"{name}=MISSING")
            given = f"make_{name}() if {name} is MISSING else {name}"
        elif field.default is not MISSING:
            space[f"default_{name}"] = field.default
            parameters.append(f"{name}=default_{name}")
        else:
            parameters.append(name)
        lines.append(f" set_{name}(self, {given})")
    exec("\n".join((f"def __init__({', '.join(parameters)}):", *lines)), space)
    constructor: Callable[..., None] = space["__init__"]
    constructor.__qualname__ = f"{made.__qualname__}.__init__"
    return constructor
