"""Classes and objects of the evaluated source: order of bases, attributes, construction."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, cast

from specpreflight.engines.source.modules import Definition, Module
from specpreflight.engines.source.natives import PLAIN_TYPES, is_plain, plain_attribute
from specpreflight.engines.source.parts import Parts
from specpreflight.engines.source.strict import (
    class_validators,
    initialise_dataclass,
    is_dataclass,
    strict_field,
    validate_field,
)
from specpreflight.engines.source.values import (
    ABSENT,
    Class,
    DataclassConstructor,
    External,
    FieldSpec,
    Frame,
    Function,
    Instance,
    Method,
    Opaque,
    Raised,
    Slot,
    Super,
    decorator_name,
    raised,
)

if TYPE_CHECKING:
    from specpreflight.engines.source.evaluator import Evaluator

_OURS = (Function, Method, Class, External, Opaque)


class Objects(Parts):
    """The part of the evaluator that knows classes; mixed into `Evaluator`."""

    #: Names of methods that classes have and whose text is not at hand.
    unshipped: frozenset[str] = frozenset()

    # definitions

    def define(self, node: ast.FunctionDef, frame: Frame) -> Any:
        """Return the function that a `def` statement makes."""
        at_module = frame.function == "<module>"
        scope = None if at_module else {**frame.outer, **frame.names}
        function = Function(node, frame.module, node.name, frame.owner, scope=scope)
        for decorator in node.decorator_list:
            name = decorator_name(decorator)
            if name in ("property", "cached_property"):
                function.kind = "property"
            elif name in ("classmethod", "staticmethod"):
                function.kind = name
            elif "cache" in name:
                function.kind = "cached"
            elif callable(wrap := self.value(decorator, frame)) and not isinstance(wrap, _OURS):
                return self.call(wrap, [function], {})
        return function

    def define_class(self, node: ast.ClassDef, frame: Frame) -> Class:
        """Return the class that a `class` statement makes; its body stays unevaluated."""
        bases = tuple(self.value(base, frame) for base in node.bases)
        methods = dict(frame.module.methods.get(node.name, {}))
        for inner in node.body:
            if isinstance(inner, ast.FunctionDef):
                methods[inner.name] = Definition(inner.name, parsed=[inner])
        cls = Class(node.name, node, frame.module, bases, methods)
        self.classes.append(cls)
        cls.order = (cls, *_merge([base for base in bases if isinstance(base, Class)]))
        return cls

    def class_attribute(self, cls: Class, name: str) -> Any:
        """Return what a class's own body binds `name` to, `ABSENT` where it does not."""
        if name in cls.attributes:
            return cls.attributes[name]
        dotted = f"{cls.module.name}.{cls.name}.{name}"
        if dotted in self.known:
            found = self.known[dotted]
        elif name in cls.methods:
            found = self.own_method(cls, name)
        elif name in cls.body:
            found = self._body_value(cls, name)
        else:
            return ABSENT
        cls.attributes[name] = found
        if isinstance(found, Instance):
            named = self.inherited(found.cls, "__set_name__")
            if isinstance(named, Function):
                self.call(named, [found, cls, name], {})
        return found

    def _body_value(self, cls: Class, name: str) -> Any:
        statement = cls.body[name]
        value = self.value(statement, Frame(cls.module, cls.name, {}, cls))
        return self.field_default(value)

    def own_method(self, cls: Class, name: str) -> Any:
        """Return the function that a class's body defines, whatever `known` says of it."""
        found: Any = ABSENT
        for statement in cls.methods[name].statements:
            assert isinstance(statement, ast.FunctionDef)
            function = self.define(statement, Frame(cls.module, "<module>", {}, cls))
            if _sets(statement, name) and isinstance(found, Function):
                found.setter = function
            else:
                found = function
        return found

    def field_default(self, value: Any) -> Any:
        """Return the default of a dataclass field that is written as `field(default=…)`."""
        return value.default if isinstance(value, FieldSpec) else value

    def inherited(self, cls: Class, name: str) -> Any:
        """Return what `cls` or one of its bases binds `name` to, or `ABSENT`."""
        if name not in cls.found:
            cls.found[name] = self.look_up(cls.order, name)
        return cls.found[name]

    def look_up(self, order: tuple[Any, ...], name: str) -> Any:
        """Return the first definition of `name` in an order of classes, or `ABSENT`."""
        for cls in order:
            if name in cls.attributes:
                return cls.attributes[name]
            if name in cls.lacks:
                continue
            if (found := self.class_attribute(cls, name)) is not ABSENT:
                return found
            cls.lacks.add(name)
        return ABSENT

    def super_of(self, args: list[Any], frame: Frame) -> Any:
        """Return what `super()` or `super(Class, self)` gives."""
        owner, subject = args or (frame.owner, next(iter(frame.names.values()), None))
        return Super(owner, subject) if isinstance(owner, Class) else Opaque("super()")

    # attributes

    def get_attribute(self, subject: Any, name: str) -> Any:
        """Return `subject.name`."""
        if isinstance(subject, Instance):
            slot = subject.cls.slots.get(name) or self.slot_of(subject.cls, name)
            if slot.reader is not None and self.reads_itself(subject, slot.reader):
                return self.call(slot.reader, [subject, name], {})
            return self._stored(subject, slot)
        if type(subject) in PLAIN_TYPES:
            return plain_attribute(subject, name)
        if isinstance(subject, Class):
            return self._static_attribute(subject, name)
        if isinstance(subject, Super):
            return self._super_attribute(subject, name)
        if isinstance(subject, Opaque):
            return self.opaque_attribute(subject, name)
        if isinstance(subject, Raised):
            return Opaque(f"exception.{name}")
        if isinstance(subject, External):
            return subject.attribute(self._evaluator(), name)
        if isinstance(subject, Module):
            return self.module_name(subject, name)
        if isinstance(subject, (Function, Method)):
            return _function_attribute(subject, name)
        if isinstance(subject, type) and is_plain(name):
            return getattr(subject, name, Opaque(f"{subject.__name__}.{name}"))
        return plain_attribute(subject, name)

    def opaque_attribute(self, subject: Opaque, name: str) -> Any:
        """Return an attribute of something unknown."""
        dotted = f"{subject.name}.{name}"
        return self.known.get(dotted, Opaque(dotted))

    def reads_itself(self, subject: Instance, reader: Function) -> bool:
        """Return whether a `__getattribute__` of the classes has to be asked for attributes."""
        return True

    def slot_of(self, cls: Class, name: str) -> Slot:
        """Return how the objects of a class have an attribute."""
        slot = cls.slots.get(name)
        if slot is None:
            stored = self.alias(cls, name)
            found = self.inherited(cls, stored)
            reader = self.inherited(cls, "__getattribute__")
            writer = self.inherited(cls, "__setattr__")
            slot = cls.slots[name] = Slot(
                stored,
                found,
                isinstance(found, Function) and found.kind == "property",
                reader if isinstance(reader, Function) else None,
                writer if isinstance(writer, Function) else None,
                strict_field(cls, name),
            )
        return slot

    def stored_attribute(self, subject: Instance, name: str) -> Any:
        """Return an attribute as `object.__getattribute__` finds it, through the alias map."""
        return self._stored(subject, self.slot_of(subject.cls, name))

    def _stored(self, subject: Instance, slot: Slot) -> Any:
        name, found = slot.name, slot.found
        if slot.is_property:
            return self.call(found, [subject], {})
        if name in subject.attributes:
            return subject.attributes[name]
        if name == "__class__":
            return subject.cls
        if name == "__dict__":
            return subject.attributes
        if found is ABSENT:
            fallback = self.inherited(subject.cls, "__getattr__")
            if isinstance(fallback, Function):
                return self.call(fallback, [subject, name], {})
            if subject.cls.inherits_unknown or name in self.unshipped:
                return Opaque(f"{subject.cls.name}.{name}")
            raise raised("AttributeError", f"'{subject.cls.name}' object has no attribute '{name}'")
        if isinstance(found, Function) and found.kind != "staticmethod":
            return Method(found, subject.cls if found.kind == "classmethod" else subject)
        return found

    def _static_attribute(self, cls: Class, name: str) -> Any:
        if name == "__name__":
            return cls.name
        if name == "__module__":
            return cls.module.name
        if name == "__class_validators__":
            return class_validators(self._evaluator(), cls)
        found = self.look_up(cls.order, name)
        if found is ABSENT:
            if cls.inherits_unknown:
                return Opaque(f"{cls.name}.{name}")
            if name == "__init__" and is_dataclass(cls):
                return DataclassConstructor(cls)
            raise raised("AttributeError", f"type object '{cls.name}' has no attribute '{name}'")
        if isinstance(found, Function) and found.kind == "classmethod":
            return Method(found, cls)
        return found

    def _super_attribute(self, subject: Super, name: str) -> Any:
        cls = subject.subject.cls if isinstance(subject.subject, Instance) else subject.subject
        order = cls.order[cls.order.index(subject.after) + 1 :]
        found = self.look_up(order, name)
        if isinstance(found, Function):
            if found.kind == "property":
                return self.call(found, [subject.subject], {})
            return found if found.kind == "staticmethod" else Method(found, subject.subject)
        if found is not ABSENT:
            return found
        if name in ("__init__", "__post_init__"):
            return _ConstructorOf(order, subject.subject)
        if name in ("__getattribute__", "__setattr__") and isinstance(subject.subject, Instance):
            return _StoredAttribute(subject.subject, reads=name == "__getattribute__")
        return Opaque(f"super().{name}")

    def set_attribute(self, subject: Any, name: str, value: Any) -> None:
        """Do `subject.name = value`, with the checks of strict dataclasses."""
        if isinstance(subject, Class):
            subject.attributes[name] = value
            subject.lacks.discard(name)
            for known in self.classes:
                known.found.clear()
                known.slots.clear()
        if not isinstance(subject, Instance):
            return
        slot = self.slot_of(subject.cls, name)
        if slot.writer is not None:
            self.call(slot.writer, [subject, name, value], {})
        else:
            self._store(subject, name, slot, value)

    def store_attribute(self, subject: Instance, name: str, value: Any) -> None:
        """Set an attribute as `object.__setattr__` does, through checks and the alias map."""
        self._store(subject, name, self.slot_of(subject.cls, name), value)

    def _store(self, subject: Instance, name: str, slot: Slot, value: Any) -> None:
        if slot.field is not None:
            validate_field(self._evaluator(), slot.field, name, value)
        if not slot.is_property:
            subject.attributes[slot.name] = value
        elif slot.found.setter is None:
            raise raised(
                "AttributeError",
                f"property '{slot.name}' of '{subject.cls.name}' object has no setter",
            )
        else:
            self.call(slot.found.setter, [subject, value], {})

    def delete_attribute(self, subject: Any, name: str) -> None:
        """Do `del subject.name`."""
        if isinstance(subject, Instance):
            name = self.alias(subject.cls, name)
            if name not in subject.attributes:
                raise raised(
                    "AttributeError", f"'{subject.cls.name}' object has no attribute '{name}'"
                )
            del subject.attributes[name]

    def alias(self, cls: Class, name: str) -> str:
        """Apply a configuration class's attribute map.

        transformers `configuration_utils.py`: `PreTrainedConfig.__getattribute__`, all releases.
        """
        if name == "attribute_map":
            return name
        if cls.aliases is None:
            mapping = self.look_up(cls.order, "attribute_map")
            cls.aliases = mapping if isinstance(mapping, dict) else {}
        alias = cls.aliases.get(name, name)
        return alias if isinstance(alias, str) else name

    def lacks(self, subject: Any, name: str) -> bool:
        """Return whether an object can be told to lack an attribute without asking for it."""
        if type(subject) is not Instance or name.startswith("__"):
            return False
        cls, slot = subject.cls, self.slot_of(subject.cls, name)
        return (
            slot.found is ABSENT
            and slot.name not in subject.attributes
            and (slot.reader is None or not self.reads_itself(subject, slot.reader))
            and self.inherited(cls, "__getattr__") is ABSENT
            and not cls.inherits_unknown
        )

    def has_attribute(self, subject: Any, name: str) -> bool | Opaque:
        """Return `hasattr(subject, name)`."""
        if self.lacks(subject, name):
            return False
        try:
            found = self.get_attribute(subject, name)
        except Raised as error:
            if "AttributeError" not in error.bases:
                raise
            return False
        if isinstance(subject, Opaque):
            return Opaque(f"hasattr({subject!r}, {name!r})")
        return not is_guess(subject, name, found)

    # construction

    def instantiate(self, cls: Class, args: list[Any], kwargs: dict[str, Any]) -> Any:
        """Return `cls(*args, **kwargs)`."""
        special = self.known.get(f"{cls.module.name}.{cls.name}()")
        if special is not None:
            return self.call(special, args, kwargs)
        instance = Instance(cls)
        self.initialise(cls.order, instance, args, kwargs)
        return instance

    def initialise(
        self, order: tuple[Any, ...], subject: Instance, args: list[Any], kwargs: dict[str, Any]
    ) -> None:
        """Run the constructor that the first class of `order` has or inherits."""
        for cls in order:
            found = self.class_attribute(cls, "__init__")
            if isinstance(found, Function):
                self.call(found, [subject, *args], kwargs)
                return
            if is_dataclass(cls):
                initialise_dataclass(self._evaluator(), cls, subject, kwargs)
                return
        subject.attributes.update(kwargs)

    def _evaluator(self) -> Evaluator:
        return cast("Evaluator", self)


class _ConstructorOf(External):
    """`super().__init__` where no class above defines one by name."""

    def __init__(self, order: tuple[Any, ...], subject: Instance) -> None:
        self._order = order
        self._subject = subject

    def evaluate(self, evaluator: Evaluator, args: list[Any], kwargs: dict[str, Any]) -> None:
        evaluator.initialise(self._order, self._subject, args, kwargs)


class _StoredAttribute(External):
    """`super().__getattribute__` or `super().__setattr__` where no class above defines one."""

    def __init__(self, subject: Instance, *, reads: bool) -> None:
        self._subject = subject
        self._reads = reads

    def evaluate(self, evaluator: Evaluator, args: list[Any], kwargs: dict[str, Any]) -> Any:
        if self._reads:
            return evaluator.stored_attribute(self._subject, *args)
        return evaluator.store_attribute(self._subject, *args)


def _function_attribute(subject: Function | Method, name: str) -> Any:
    if name == "__name__":
        return subject.name
    if name == "__func__" and isinstance(subject, Method):
        return subject.function
    return Opaque(f"function.{name}")


def _merge(bases: list[Class]) -> Iterator[Class]:
    """Yield the classes above, each after all of its subclasses (C3 for what occurs here)."""
    sequences = [list(base.order) for base in bases]
    while sequences := [sequence for sequence in sequences if sequence]:
        head = next(
            (
                sequence[0]
                for sequence in sequences
                if not any(sequence[0] in other[1:] for other in sequences)
            ),
            sequences[0][0],
        )
        yield head
        sequences = [[item for item in sequence if item is not head] for sequence in sequences]


def _sets(node: ast.FunctionDef, name: str) -> bool:
    return any(
        isinstance(decorator, ast.Attribute)
        and decorator.attr == "setter"
        and isinstance(decorator.value, ast.Name)
        and decorator.value.id == name
        for decorator in node.decorator_list
    )


def is_guess(subject: Any, name: str, found: Any) -> bool:
    """Return whether an attribute would have to come from a base class that is not at hand.

    Code that asks with a default (`hasattr`, three-argument `getattr`) is told that it is absent.
    """
    return (
        isinstance(subject, Instance)
        and isinstance(found, Opaque)
        and found.name == f"{subject.cls.name}.{name}"
    )
