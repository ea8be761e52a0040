"""What evaluated code works with besides plain Python data."""

from __future__ import annotations

import ast
import builtins
import copy
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache, cached_property
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

if TYPE_CHECKING:
    from specpreflight.engines.source.evaluator import Evaluator
    from specpreflight.engines.source.modules import Definition, Module


#: Types whose values are never copied.
_UNCHANGING = frozenset({type(None), bool, int, float, str})


class Undecided(Exception):
    """Plain Python would have to know whether an unknown value is true."""


class Opaque:
    """A value that is not known; `name` says where it would have come from (`torch.cuda()`)."""

    __slots__ = ("name",)

    def __init__(self, name: str) -> None:
        self.name = name

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Opaque) and other.name == self.name

    def __hash__(self) -> int:
        return hash(self.name)

    def __repr__(self) -> str:
        return f"<unknown: {self.name}>"

    def __bool__(self) -> bool:
        raise Undecided(f"the truth of {self.name} is unknown")


@dataclass(frozen=True, slots=True)
class Dtype:
    """A `torch.dtype`."""

    name: str

    def __repr__(self) -> str:
        return f"torch.{self.name}"


@dataclass(eq=False, slots=True)
class Function:
    """A function or method of the evaluated source.

    `owner` is the class whose body defines it (for `super()`), `kind` what its decorators make of
    it: `function`, `property`, `classmethod`, `staticmethod` or `cached` (an `lru_cache`).
    """

    node: ast.FunctionDef | ast.Lambda
    module: Module
    name: str
    owner: Class | None = None
    kind: str = "function"
    setter: Function | None = None
    scope: Mapping[str, Any] | None = None
    cache: dict[Any, Any] = field(default_factory=dict)


#: Base classes that give configurations nothing.
_HARMLESS_BASES = frozenset({"PushToHubMixin", "ABC", "object", "Protocol", "Generic"})


@dataclass(eq=False)
class Class:
    """A class of the evaluated source; its body is evaluated name by name, when asked for.

    `node` is the class without its methods, which are in `methods`. `aliases` is its attribute
    map once it was looked at; `lacks` names attributes that it was found not to define itself,
    `found` keeps what was looked up in it and its bases, `slots` how its objects have attributes.
    """

    name: str
    node: ast.ClassDef
    module: Module
    bases: tuple[Any, ...]
    methods: Mapping[str, Definition]
    attributes: dict[str, Any] = field(default_factory=dict)
    order: tuple[Any, ...] = ()
    aliases: Mapping[str, Any] | None = None
    lacks: set[str] = field(default_factory=set)
    found: dict[str, Any] = field(default_factory=dict)
    slots: dict[str, Slot] = field(default_factory=dict)

    def has_method(self, name: str) -> bool:
        """Return whether the class or one of its bases defines a method."""
        return any(name in each.methods for each in self.order)

    @cached_property
    def decorators(self) -> tuple[str, ...]:
        """The last names of its decorators."""
        return tuple(map(decorator_name, self.node.decorator_list))

    @cached_property
    def strict(self) -> Class | None:
        """The nearest class of its order that is decorated `@strict`."""
        return next((each for each in self.order if "strict" in each.decorators), None)

    @cached_property
    def is_dataclass(self) -> bool:
        """Whether `dataclass` makes its constructor, or that of a class it inherits from."""
        return any("dataclass" in name for each in self.order for name in each.decorators)

    @cached_property
    def inherits_unknown(self) -> bool:
        """Whether a base class is not at hand, other than a few known to add nothing."""
        return any(
            isinstance(base, Opaque) and base.name.rpartition(".")[2] not in _HARMLESS_BASES
            for each in self.order
            for base in each.bases
        )

    @cached_property
    def body(self) -> dict[str, ast.expr]:
        """What the body assigns, by name; the last assignment counts."""
        found: dict[str, ast.expr] = {}
        for statement in self.node.body:
            if isinstance(statement, ast.AnnAssign):
                if isinstance(statement.target, ast.Name) and statement.value is not None:
                    found[statement.target.id] = statement.value
            elif isinstance(statement, ast.Assign):
                for target in statement.targets:
                    if isinstance(target, ast.Name):
                        found[target.id] = statement.value
        return found

    def __repr__(self) -> str:
        return f"<class '{self.module.name}.{self.name}'>"


class Slot(NamedTuple):
    """How the objects of a class have one attribute.

    `name` is what it is stored under; `found` what the classes bind it to, `ABSENT` where none
    does. `reader` and `writer` are a `__getattribute__` and `__setattr__` that the classes define,
    and `field` the field of a strict dataclass whose values are checked.
    """

    name: str
    found: Any
    is_property: bool
    reader: Function | None
    writer: Function | None
    field: Field | None


#: Stands for an attribute that no class binds.
ABSENT: Any = object()


@dataclass(eq=False)
class Instance:
    """An object of an evaluated class."""

    cls: Class
    attributes: dict[str, Any] = field(default_factory=dict)

    def __repr__(self) -> str:
        return f"<{self.cls.name} object>"


@dataclass(slots=True, unsafe_hash=True)
class Method:
    """A function bound to an object or, for class methods, a class."""

    function: Function
    subject: Any

    @property
    def name(self) -> str:
        """The name of the function."""
        return self.function.name


@dataclass(frozen=True, slots=True)
class Super:
    """What `super()` gives: attribute look-up that starts after `after` in the object's order."""

    after: Class
    subject: Any


class External:
    """Something outside of the evaluated source that answers for itself.

    Subclasses override what evaluated code may do with them; the rest is unknown.
    """

    def evaluate(self, evaluator: Evaluator, args: list[Any], kwargs: dict[str, Any]) -> Any:
        """Return what calling it gives."""
        return Opaque(f"{type(self).__name__}()")

    def attribute(self, evaluator: Evaluator, name: str) -> Any:
        """Return its attribute `name`."""
        return Opaque(f"{type(self).__name__}.{name}")

    def subscript(self, evaluator: Evaluator, key: Any) -> Any:
        """Return its item `key`."""
        return Opaque(f"{type(self).__name__}[{key!r}]")

    def contains(self, evaluator: Evaluator, item: Any) -> Any:
        """Return whether `item in` it."""
        return Opaque(f"{item!r} in {type(self).__name__}")


class Raised(Exception):
    """An exception that the evaluated code raises.

    Attributes:
        name: its class name.
        message: `str()` of it.
        bases: the names of the classes it is an instance of.
        frames: `module:function` from the outermost call to the place of the `raise`.
    """

    def __init__(self, name: str, message: str, bases: frozenset[str]) -> None:
        super().__init__(f"{name}: {message}")
        self.name = name
        self.message = message
        self.bases = bases
        self.frames: list[str] = []


#: Exceptions of other packages that the evaluated code raises or catches, and their base classes.
_FOREIGN_EXCEPTIONS = {
    "StrictDataclassFieldValidationError": ("StrictDataclassError", "Exception"),
    "StrictDataclassClassValidationError": ("StrictDataclassError", "Exception"),
    "HFValidationError": ("ValueError", "Exception"),
    "JSONDecodeError": ("ValueError", "Exception"),
}


def last_name(node: ast.expr) -> str:
    """Return the name that ends a dotted one: `dataclass` of `dataclasses.dataclass`."""
    if isinstance(node, ast.Attribute):
        return node.attr
    return node.id if isinstance(node, ast.Name) else ast.unparse(node)


def decorator_name(node: ast.expr) -> str:
    """Return the last name of a decorator, with or without arguments."""
    return last_name(node.func if isinstance(node, ast.Call) else node)


@cache
def exception_bases(name: str) -> frozenset[str]:
    """Return the class names that an `except` clause may name to catch `name`."""
    known = getattr(builtins, name, None)
    if isinstance(known, type) and issubclass(known, BaseException):
        return frozenset(base.__name__ for base in known.__mro__)
    return frozenset({name, *_FOREIGN_EXCEPTIONS.get(name, ("Exception",)), "BaseException"})


def raised(name: str, message: str) -> Raised:
    """Return the exception `name(message)` as evaluated code would raise it."""
    return Raised(name, message, exception_bases(name))


def raised_by_python(error: Exception) -> Raised:
    """Return what an operation on plain data raised, as if the evaluated code had raised it."""
    message = str(error)
    return Raised(type(error).__name__, message, exception_bases(type(error).__name__))


class Frame(NamedTuple):
    """One call: its names, and where they are looked up next."""

    module: Module
    function: str
    names: dict[str, Any]
    owner: Class | None = None
    outer: Mapping[str, Any] = MappingProxyType({})


#: What is compiled of an expression or a body: gives its value, or how it ended.
Code: TypeAlias = Callable[["Evaluator", Frame], Any]


class Field(NamedTuple):
    """A field of a dataclass: where it is declared, and how its value is made and checked.

    `annotation` is `None` where annotations are strings, which switches checks off.
    """

    name: str
    annotation: ast.expr | None
    default: ast.expr | None
    owner: Class


class FieldSpec:
    """A dataclass field written as a call: its default and its own validators."""

    def __init__(self, default: Any, factory: Any, validators: list[Any]) -> None:
        self.default = default
        self.factory = factory
        self.validators = validators


class DataclassConstructor(External):
    """`Class.__init__` where `dataclass` makes it."""

    def __init__(self, cls: Class) -> None:
        self.cls = cls


class Special(External):
    """A built-in function that needs the evaluator."""

    def __init__(self, function: Callable[[Evaluator, list[Any], dict[str, Any]], Any]) -> None:
        self._function = function

    def evaluate(self, evaluator: Evaluator, args: list[Any], kwargs: dict[str, Any]) -> Any:
        """Call the function."""
        return self._function(evaluator, args, kwargs)


def deep_copy(value: Any) -> Any:
    """Return `copy.deepcopy(value)`; classes and functions stay what they are."""
    return value if type(value) in _UNCHANGING else _copy(value, {})


def _copy(value: Any, copies: dict[int, Any]) -> Any:
    """Copy a value; what it holds twice stays one."""
    kind = type(value)
    if kind in _UNCHANGING:
        return value
    if id(value) in copies:
        return copies[id(value)]
    if kind is Instance:
        twin = copies[id(value)] = Instance(value.cls)
        twin.attributes.update((k, _copy(v, copies)) for k, v in value.attributes.items())
        return twin
    if isinstance(value, dict):
        found: dict[Any, Any] = {}
        copies[id(value)] = found
        found.update((key, _copy(item, copies)) for key, item in value.items())
        return found
    if isinstance(value, (list, tuple)):
        return copies.setdefault(id(value), kind(_copy(item, copies) for item in value))
    return copy.copy(value) if isinstance(value, set) else value
