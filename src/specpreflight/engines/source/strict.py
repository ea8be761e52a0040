"""Strict dataclasses: how configuration classes of transformers 5 are built and checked.

Restates huggingface_hub `dataclasses.py` (`strict`, `type_validator` and its kin) and transformers
`configuration_utils.py` (`wrap_init_to_accept_kwargs`, `PreTrainedConfig.__init_subclass__`),
which SGLang meets from 0.5.10 on (0.5.6.post1 for one release).
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any, cast

from specpreflight.engines.source.values import (
    Class,
    Field,
    FieldSpec,
    Frame,
    Function,
    Instance,
    Opaque,
    Raised,
    deep_copy,
    last_name,
    raised,
)

if TYPE_CHECKING:
    from specpreflight.engines.source.evaluator import Evaluator


def is_dataclass(cls: Class) -> bool:
    """Return whether a class gets its constructor from `dataclass`: all subclasses of a strict one.

    transformers 5: `PreTrainedConfig.__init_subclass__` makes one of every configuration class.
    """
    return cls.is_dataclass


def initialise_dataclass(
    evaluator: Evaluator, cls: Class, subject: Instance, kwargs: dict[str, Any]
) -> None:
    """Set the fields, hand the rest to `__post_init__`, then run the class's validators."""
    declared = fields(cls)
    for name, field in declared.items():
        if name in kwargs:
            evaluator.set_attribute(subject, name, kwargs[name])
        elif field.default is None:
            raise raised("TypeError", f"Missing required field - '{name}'")
        else:
            evaluator.set_attribute(subject, name, _default(evaluator, field))
    rest = {name: value for name, value in kwargs.items() if name not in declared}
    found = evaluator.inherited(subject.cls, "__post_init__")
    if isinstance(found, Function):
        evaluator.call(found, [subject], rest)
    else:
        for name, value in rest.items():
            evaluator.set_attribute(subject, name, value)
    if cls.strict is not None:
        _validate(evaluator, cls.strict, subject)


def _default(evaluator: Evaluator, field: Field) -> Any:
    assert field.default is not None
    value = evaluator.value(field.default, _frame_of(field))
    if isinstance(value, FieldSpec):
        return evaluator.call(value.factory, [], {}) if value.factory else value.default
    return deep_copy(value)


def fields(cls: Class) -> Mapping[str, Field]:
    """Return the fields of a class and its bases by name, in the order of `dataclasses.fields`."""
    if "<fields>" not in cls.attributes:
        cls.attributes["<fields>"] = _collect_fields(cls)
    found: Mapping[str, Field] = cls.attributes["<fields>"]
    return found


def _collect_fields(cls: Class) -> Mapping[str, Field]:
    found: dict[str, Field] = {}
    for ancestor in reversed(cls.order):
        for statement in ancestor.node.body:
            if not isinstance(statement, ast.AnnAssign):
                continue
            if not isinstance(statement.target, ast.Name):
                continue
            if _is_class_variable(statement.annotation):
                continue
            name = statement.target.id
            annotation = None if ancestor.module.strings else statement.annotation
            found[name] = Field(name, annotation, statement.value, ancestor)
        for name, value in _plain_overrides(ancestor):
            if name in found:
                before = found[name]
                found[name] = Field(name, before.annotation, value, ancestor)
    return found


def _is_class_variable(annotation: ast.expr) -> bool:
    head = annotation.value if isinstance(annotation, ast.Subscript) else annotation
    return isinstance(head, (ast.Name, ast.Attribute)) and last_name(head) == "ClassVar"


def _plain_overrides(cls: Class) -> Iterator[tuple[str, ast.expr]]:
    for statement in cls.node.body:
        if isinstance(statement, ast.Assign) and len(statement.targets) == 1:
            target = statement.targets[0]
            if isinstance(target, ast.Name):
                yield target.id, statement.value


def class_validators(evaluator: Evaluator, cls: Class) -> list[Any]:
    """Return the methods `validate_*` of a strict class, as they were when it was decorated."""
    if "__class_validators__" not in cls.attributes:
        names = {
            name
            for ancestor in cls.order
            for name in ancestor.methods
            if name.startswith("validate_")
        }
        found = [evaluator.look_up(cls.order, name) for name in sorted(names)]
        cls.attributes["__class_validators__"] = found
    validators: list[Any] = cls.attributes["__class_validators__"]
    return validators


def _validate(evaluator: Evaluator, cls: Class, subject: Instance) -> None:
    for validator in class_validators(evaluator, cls):
        try:
            evaluator.call(validator, [subject], {})
        except Raised as error:
            if not error.bases & {"ValueError", "TypeError"}:
                raise
            wrapped = raised(
                "StrictDataclassClassValidationError",
                f"Class validation error for validator '{validator.name}':\n"
                f"    {error.name}: {error.message}",
            )
            wrapped.frames = error.frames
            raise wrapped from error


def strict_field(cls: Class, name: str) -> Field | None:
    """Return the field whose values a strict class checks; others check nothing."""
    return None if cls.strict is None else fields(cls.strict).get(name)


def validate_field(evaluator: Evaluator, field: Field, name: str, value: Any) -> None:
    """Check a value against a field's declared type and its own validators."""
    try:
        if field.annotation is not None and type(value) not in _accepted(field.annotation):
            check_type(evaluator, field, name, value, field.annotation)
        for validator in _validators(evaluator, field):
            evaluator.call(validator, [value], {})
    except Raised as error:
        if not error.bases & {"ValueError", "TypeError"}:
            raise
        raise raised(
            "StrictDataclassFieldValidationError",
            f"Validation error for field '{name}':\n    {error.name}: {error.message}",
        ) from error


def _validators(evaluator: Evaluator, field: Field) -> Sequence[Any]:
    """Return the validators that a field is written with; made when the class is, that is once."""
    if not isinstance(field.default, ast.Call):
        return ()
    known: dict[str, list[Any]] = field.owner.attributes.setdefault("<validators>", {})
    if field.name not in known:
        spec = evaluator.value(field.default, _frame_of(field))
        known[field.name] = spec.validators if isinstance(spec, FieldSpec) else []
    return known[field.name]


def _frame_of(field: Field) -> Frame:
    return Frame(field.owner.module, field.owner.name, {}, field.owner)


#: Types that an annotation names, whose own instances (no subclass) it lets pass.
_NAMED_TYPES = {kind.__name__: kind for kind in (int, str, float, bool, list, dict)}


@cache
def _accepted(annotation: ast.expr | None) -> frozenset[type]:
    """Return types of values that need no further look."""
    return frozenset(_accepted_by(annotation))


def _accepted_by(annotation: ast.expr | None) -> Iterator[type]:
    match annotation:
        case ast.BinOp(op=ast.BitOr()):
            yield from _accepted_by(annotation.left)
            yield from _accepted_by(annotation.right)
        case ast.Constant(value=None):
            yield type(None)
        case ast.Name(id=name) if name in _NAMED_TYPES:
            yield _NAMED_TYPES[name]
        case ast.Subscript(slice=argument) if last_name(annotation.value) == "Optional":
            yield type(None)
            yield from _accepted_by(argument)


def check_type(
    evaluator: Evaluator, field: Field, name: str, value: Any, annotation: ast.expr
) -> None:
    """Restate `type_validator`: raise the `TypeError` it would, with its text."""
    if isinstance(value, Opaque):
        return
    match annotation:
        case ast.BinOp(op=ast.BitOr()):
            _check_union(evaluator, field, name, value, list(_alternatives(annotation)))
        case ast.Subscript(value=head, slice=argument):
            _check_generic(evaluator, field, name, value, last_name(head), argument)
        case ast.Constant(value=None):
            if value is not None:
                raise _mismatch(f"Field '{name}' expected None, got {type(value).__name__}")
        case ast.Constant():
            return
        case _:
            _check_simple(evaluator, field, name, value, annotation)


def _alternatives(annotation: ast.expr) -> Iterator[ast.expr]:
    if isinstance(annotation, ast.BinOp):
        yield from _alternatives(annotation.left)
        yield from _alternatives(annotation.right)
    else:
        yield annotation


def _check_union(
    evaluator: Evaluator, field: Field, name: str, value: Any, kinds: list[ast.expr]
) -> None:
    errors = []
    for kind in kinds:
        is_none = isinstance(kind, ast.Constant) and kind.value is None
        try:
            if is_none:
                _check_instance(name, value, type(None))
            else:
                check_type(evaluator, field, name, value, kind)
        except Raised as error:
            errors.append(error.message)
        else:
            return
    shown = ", ".join(_shown(evaluator, field, kind) for kind in kinds)
    raise _mismatch(
        f"Field '{name}' with value {value!r} doesn't match any type in ({shown}). "
        f"Errors: {'; '.join(errors)}"
    )


def _check_generic(
    evaluator: Evaluator, field: Field, name: str, value: Any, head: str, argument: ast.expr
) -> None:
    arguments = list(argument.elts) if isinstance(argument, ast.Tuple) else [argument]
    kind = head.lower()
    if kind == "optional":
        _check_union(evaluator, field, name, value, [*arguments, ast.Constant(None)])
    elif kind == "union":
        _check_union(evaluator, field, name, value, arguments)
    elif kind == "literal":
        allowed = tuple(ast.literal_eval(item) for item in arguments)
        if value not in allowed or isinstance(value, bool) not in {
            isinstance(item, bool) for item in allowed
        }:
            raise _mismatch(f"Field '{name}' expected one of {allowed}, got {value}")
    elif kind in ("list", "sequence"):
        _check_items(evaluator, field, name, value, kind, arguments)
    elif kind == "dict":
        _check_dict(evaluator, field, name, value, arguments)
    elif kind == "tuple":
        _check_tuple(evaluator, field, name, value, arguments)


def _check_items(
    evaluator: Evaluator, field: Field, name: str, value: Any, kind: str, arguments: list[ast.expr]
) -> None:
    wanted: tuple[type, ...] = (list,) if kind == "list" else (list, tuple, str)
    if not isinstance(value, wanted):
        label = "a list" if kind == "list" else "a Sequence"
        raise _mismatch(f"Field '{name}' expected {label}, got {type(value).__name__}")
    for index, item in enumerate(cast(list[Any], value)):
        try:
            check_type(evaluator, field, f"{name}[{index}]", item, arguments[0])
        except Raised as error:
            raise _mismatch(f"Invalid item at index {index} in {kind} '{name}'") from error


def _check_dict(
    evaluator: Evaluator, field: Field, name: str, value: Any, arguments: list[ast.expr]
) -> None:
    if not isinstance(value, dict):
        raise _mismatch(f"Field '{name}' expected a dict, got {type(value).__name__}")
    for key, item in value.items():
        try:
            check_type(evaluator, field, f"{name}.key", key, arguments[0])
            check_type(evaluator, field, f"{name}[{key!r}]", item, arguments[1])
        except Raised as error:
            raise _mismatch(f"Invalid key or value in dict '{name}'") from error


def _check_tuple(
    evaluator: Evaluator, field: Field, name: str, value: Any, arguments: list[ast.expr]
) -> None:
    if not isinstance(value, tuple):
        raise _mismatch(f"Field '{name}' expected a tuple, got {type(value).__name__}")
    if len(arguments) == 2 and ast.unparse(arguments[1]) == "...":
        arguments = [arguments[0]] * len(value)
    elif len(arguments) != len(value):
        raise _mismatch(
            f"Field '{name}' expected a tuple of length {len(arguments)}, got {len(value)}"
        )
    for index, (item, kind) in enumerate(zip(value, arguments, strict=True)):
        try:
            check_type(evaluator, field, f"{name}[{index}]", item, kind)
        except Raised as error:
            raise _mismatch(f"Invalid item at index {index} in tuple '{name}'") from error


def _check_simple(
    evaluator: Evaluator, field: Field, name: str, value: Any, annotation: ast.expr
) -> None:
    kind = _kind(evaluator, field, annotation)
    if isinstance(kind, type):
        _check_instance(name, value, kind)
    elif isinstance(kind, Class):
        if any(ast.unparse(base).endswith("TypedDict") for base in kind.node.bases):
            raise _mismatch("TypedDict does not support instance and class checks")
        if not (isinstance(value, Instance) and kind in value.cls.order):
            raise _mismatch(
                f"Field '{name}' expected {kind.name}, got {_name_of(value)} (value: {value!r})"
            )


def _check_instance(name: str, value: Any, kind: type) -> None:
    wrong_bool = kind is int and isinstance(value, bool)
    if wrong_bool or not isinstance(value, kind):
        raise _mismatch(
            f"Field '{name}' expected {kind.__name__}, got {_name_of(value)} (value: {value!r})"
        )


def _kind(evaluator: Evaluator, field: Field, annotation: ast.expr) -> Any:
    return evaluator.value(annotation, _frame_of(field))


def _shown(evaluator: Evaluator, field: Field, kind: ast.expr) -> str:
    if isinstance(kind, ast.Constant) and kind.value is None:
        return "<class 'NoneType'>"
    if isinstance(kind, ast.Subscript):
        return ast.unparse(kind)
    return repr(_kind(evaluator, field, kind))


def _name_of(value: Any) -> str:
    return value.cls.name if isinstance(value, Instance) else type(value).__name__


def _mismatch(message: str) -> Raised:
    return raised("TypeError", message)
