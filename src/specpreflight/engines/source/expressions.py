"""Compiles expressions: of a syntax node, once a process, a function that computes its value.

The functions know nothing of a launch: they are given the evaluator and the frame. What stands
fixed in the text is decided while compiling; common kinds of operands take a short way, and
`operations.py` says what happens to all others.
"""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING, Any, TypeAlias

from specpreflight.engines.source.codes import COMPILERS, code_of, is_fixed
from specpreflight.engines.source.comparisons import compile_comparison
from specpreflight.engines.source.natives import (
    CONTAINERS,
    call_container,
    call_python,
    is_plain,
)
from specpreflight.engines.source.operations import is_generic, truth
from specpreflight.engines.source.values import (
    Code,
    External,
    Frame,
    Function,
    Opaque,
    raised,
)

if TYPE_CHECKING:
    from specpreflight.engines.source.evaluator import Evaluator

#: Binds a target to a value.
Assigner: TypeAlias = Callable[["Evaluator", Frame, Any], None]


def _fixed(value: Any) -> Code:
    return lambda evaluator, frame: value


def _name(node: ast.Name) -> Code:
    name = node.id

    def load(evaluator: Evaluator, frame: Frame) -> Any:
        names = frame.names
        return names[name] if name in names else evaluator.load(name, frame)

    return load


def _attribute(node: ast.Attribute) -> Code:
    subject, name = code_of(node.value), node.attr
    if not isinstance(node.value, ast.Name):
        return lambda evaluator, frame: evaluator.get_attribute(subject(evaluator, frame), name)
    variable = node.value.id

    def get(evaluator: Evaluator, frame: Frame) -> Any:
        names = frame.names
        owner = names[variable] if variable in names else evaluator.load(variable, frame)
        return evaluator.get_attribute(owner, name)

    return get


def _conditional(node: ast.IfExp) -> Code:
    test, body, orelse = code_of(node.test), code_of(node.body), code_of(node.orelse)

    def choose(evaluator: Evaluator, frame: Frame) -> Any:
        decided = truth(test(evaluator, frame))
        if decided is None:
            return Opaque(ast.unparse(node))
        return body(evaluator, frame) if decided else orelse(evaluator, frame)

    return choose


def _binary(node: ast.BinOp) -> Code:
    left, right, operation = code_of(node.left), code_of(node.right), type(node.op)
    return lambda evaluator, frame: evaluator.binary(
        operation, left(evaluator, frame), right(evaluator, frame)
    )


def _boolean(node: ast.BoolOp) -> Code:
    stop = isinstance(node.op, ast.Or)
    parts = tuple(map(code_of, node.values))

    def decide(evaluator: Evaluator, frame: Frame) -> Any:
        unknown: Opaque | None = None
        value: Any = None
        for part in parts:
            value = part(evaluator, frame)
            if type(value) is Opaque:
                unknown = value if unknown is None else unknown
            elif bool(value) is stop:
                return value
        return value if unknown is None else unknown

    return decide


def _unary(node: ast.UnaryOp) -> Code:
    operand = code_of(node.operand)
    operation = operator.neg if isinstance(node.op, ast.USub) else operator.pos

    def negate(evaluator: Evaluator, frame: Frame) -> Any:
        value = operand(evaluator, frame)
        return Opaque(f"not {value!r}") if type(value) is Opaque else not value

    def compute(evaluator: Evaluator, frame: Frame) -> Any:
        value = operand(evaluator, frame)
        return value if type(value) is Opaque else call_python(operation, [value], {})

    return negate if isinstance(node.op, ast.Not) else compute


def _subscript(node: ast.Subscript) -> Code:
    owner, key = code_of(node.value), code_of(node.slice)

    def look(evaluator: Evaluator, frame: Frame) -> Any:
        found = owner(evaluator, frame)
        if is_generic(found):
            return found
        if type(found) is Opaque:
            return Opaque(ast.unparse(node))
        return evaluator.item(found, key(evaluator, frame), node)

    return look


def _slice(node: ast.Slice) -> Code:
    bounds = [None if b is None else code_of(b) for b in (node.lower, node.upper, node.step)]
    return lambda evaluator, frame: slice(
        *(None if bound is None else bound(evaluator, frame) for bound in bounds)
    )


# text


def _joined(node: ast.JoinedStr) -> Code:
    parts = tuple(map(_formatted, node.values))
    return lambda evaluator, frame: "".join(part(evaluator, frame) for part in parts)


def _formatted(part: ast.expr) -> Code:
    if isinstance(part, ast.Constant):
        return _fixed(str(part.value))
    assert isinstance(part, ast.FormattedValue)
    value_of, as_repr = code_of(part.value), part.conversion == ord("r")
    spec_of = None if part.format_spec is None else code_of(part.format_spec)

    def print_value(evaluator: Evaluator, frame: Frame) -> str:
        value = value_of(evaluator, frame)
        if as_repr:
            return repr(value)
        if spec_of is not None and is_plain(value):
            return str(call_python(format, [value, spec_of(evaluator, frame)], {}))
        return evaluator.text(value)

    return print_value


# calls


def _call(node: ast.Call) -> Code:
    arguments, keywords = _items(node.args), _keywords(node)
    if isinstance(node.func, ast.Name) and node.func.id == "super":
        return lambda evaluator, frame: evaluator.super_of(arguments(evaluator, frame), frame)
    if isinstance(node.func, ast.Attribute):
        return _method_call(node.func, arguments, keywords)
    target = code_of(node.func)
    return lambda evaluator, frame: evaluator.call(
        target(evaluator, frame), arguments(evaluator, frame), keywords(evaluator, frame)
    )


def _method_call(node: ast.Attribute, arguments: Code, keywords: Code) -> Code:
    subject_of, name = code_of(node.value), node.attr

    def call(evaluator: Evaluator, frame: Frame) -> Any:
        subject = subject_of(evaluator, frame)
        if type(subject) in CONTAINERS:
            args, kwargs = arguments(evaluator, frame), keywords(evaluator, frame)
            return call_container(subject, name, args, kwargs)
        target = evaluator.get_attribute(subject, name)
        return evaluator.call(target, arguments(evaluator, frame), keywords(evaluator, frame))

    return call


def _keywords(node: ast.Call) -> Code:
    """Return what computes the arguments with names."""
    pairs = [(keyword.arg, code_of(keyword.value)) for keyword in node.keywords]
    if not pairs:
        return lambda evaluator, frame: {}

    def collect(evaluator: Evaluator, frame: Frame) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for name, code in pairs:
            value = code(evaluator, frame)
            if name is not None:
                found[name] = value
            elif isinstance(value, dict):
                found.update(value)
            elif not isinstance(value, Opaque):
                raise raised(
                    "TypeError",
                    f"{ast.unparse(node.func)}() argument after ** must be a mapping, "
                    f"not {type(value).__name__}",
                )
        return found

    return collect


def _lambda(node: ast.Lambda) -> Code:
    def make(evaluator: Evaluator, frame: Frame) -> Function:
        scope = {**frame.outer, **frame.names}
        return Function(node, frame.module, "<lambda>", frame.owner, scope=scope)

    return make


# containers


def _items(nodes: list[ast.expr]) -> Code:
    """Return what computes a new list of values."""
    if all(type(node) is ast.Constant for node in nodes):
        fixed = [node.value for node in nodes if isinstance(node, ast.Constant)]
        return lambda evaluator, frame: fixed.copy()
    if not any(isinstance(node, ast.Starred) for node in nodes):
        return _list_of(tuple(map(code_of, nodes)))
    parts = [
        (code_of(node.value), True) if isinstance(node, ast.Starred) else (code_of(node), False)
        for node in nodes
    ]

    def collect(evaluator: Evaluator, frame: Frame) -> list[Any]:
        items: list[Any] = []
        for code, is_starred in parts:
            value = code(evaluator, frame)
            items.extend(evaluator.iterate(value) if is_starred else (value,))
        return items

    return collect


def _list_of(codes: tuple[Code, ...]) -> Code:
    """Return what computes a list of so many values; most lists are arguments, and short."""
    match codes:
        case (first,):
            return lambda evaluator, frame: [first(evaluator, frame)]
        case (first, second):
            return lambda evaluator, frame: [first(evaluator, frame), second(evaluator, frame)]
    return lambda evaluator, frame: [code(evaluator, frame) for code in codes]


def _tuple(node: ast.Tuple) -> Code:
    if is_fixed(node):
        return _fixed(ast.literal_eval(node))
    items = _items(node.elts)
    return lambda evaluator, frame: tuple(items(evaluator, frame))


def _set(node: ast.Set) -> Code:
    items = _items(node.elts)
    return lambda evaluator, frame: set(items(evaluator, frame))


def _dict(node: ast.Dict) -> Code:
    pairs = [
        (None if key is None else code_of(key), code_of(value))
        for key, value in zip(node.keys, node.values, strict=True)
    ]

    def build(evaluator: Evaluator, frame: Frame) -> dict[Any, Any]:
        result: dict[Any, Any] = {}
        for key, code in pairs:
            value = code(evaluator, frame)
            if key is not None:
                result[key(evaluator, frame)] = value
            elif isinstance(value, dict):
                result.update(value)
        return result

    return build


def _comprehension(node: ast.ListComp | ast.GeneratorExp | ast.SetComp) -> Code:
    return _loops(node.generators, code_of(node.elt))


def _set_comprehension(node: ast.SetComp) -> Code:
    return _made(set, _comprehension(node))


def _dict_comprehension(node: ast.DictComp) -> Code:
    key, value = code_of(node.key), code_of(node.value)
    pairs = _loops(
        node.generators,
        lambda evaluator, frame: (key(evaluator, frame), value(evaluator, frame)),
    )
    return _made(dict, pairs)


def _made(kind: type, items: Code) -> Code:
    def make(evaluator: Evaluator, frame: Frame) -> Any:
        found = items(evaluator, frame)
        return found if isinstance(found, Opaque) else kind(found)

    return make


class _UnknownItems(Exception):
    """A comprehension goes through something unknown; so is what it makes."""

    def __init__(self, source: Opaque) -> None:
        super().__init__(source.name)
        self.source = source


def _loops(generators: list[ast.comprehension], wanted: Code) -> Code:
    """Return what computes a list of what is wanted in nested loops, in a frame of its own."""
    levels = [
        (code_of(each.iter), assigner_of(each.target), tuple(map(code_of, each.ifs)))
        for each in generators
    ]

    def fill(evaluator: Evaluator, frame: Frame, depth: int, found: list[Any]) -> None:
        if depth == len(levels):
            found.append(wanted(evaluator, frame))
            return
        items, bind, tests = levels[depth]
        source = items(evaluator, frame)
        if type(source) is Opaque:
            raise _UnknownItems(source)
        for item in evaluator.iterate(source):
            bind(evaluator, frame, item)
            for test in tests:
                if not truth(test(evaluator, frame)):
                    break
            else:
                fill(evaluator, frame, depth + 1, found)

    def collect(evaluator: Evaluator, frame: Frame) -> Any:
        inner = Frame(frame.module, frame.function, frame.names.copy(), frame.owner, frame.outer)
        found: list[Any] = []
        try:
            fill(evaluator, inner, 0, found)
        except _UnknownItems as error:
            return error.source
        return found

    return collect


# targets


@cache
def assigner_of(target: ast.expr) -> Assigner:
    """Return what binds a target of an assignment."""
    match target:
        case ast.Name():
            return _name_assigner(target.id)
        case ast.Attribute():
            return _attribute_assigner(target)
        case ast.Subscript():
            return _item_assigner(target)
        case ast.Tuple() | ast.List():
            return _each_assigner(target)
    return lambda evaluator, frame, value: None


def _name_assigner(name: str) -> Assigner:
    def assign(evaluator: Evaluator, frame: Frame, value: Any) -> None:
        frame.names[name] = value

    return assign


def _attribute_assigner(target: ast.Attribute) -> Assigner:
    subject, name = code_of(target.value), target.attr

    def assign(evaluator: Evaluator, frame: Frame, value: Any) -> None:
        evaluator.set_attribute(subject(evaluator, frame), name, value)

    return assign


def _item_assigner(target: ast.Subscript) -> Assigner:
    owner, key = code_of(target.value), code_of(target.slice)

    def assign(evaluator: Evaluator, frame: Frame, value: Any) -> None:
        found = owner(evaluator, frame)
        if not isinstance(found, (External, Opaque)):
            call_python(operator.setitem, [found, key(evaluator, frame), value], {})

    return assign


def _each_assigner(target: ast.Tuple | ast.List) -> Assigner:
    inner = tuple(map(assigner_of, target.elts))

    def assign(evaluator: Evaluator, frame: Frame, value: Any) -> None:
        unknown = isinstance(value, Opaque)
        items = [value] * len(inner) if unknown else evaluator.iterate(value)
        for bind, item in zip(inner, items, strict=False):
            bind(evaluator, frame, item)

    return assign


def _named(node: ast.NamedExpr) -> Code:
    code, bind = code_of(node.value), assigner_of(node.target)

    def assign(evaluator: Evaluator, frame: Frame) -> Any:
        value = code(evaluator, frame)
        bind(evaluator, frame, value)
        return value

    return assign


COMPILERS.update(
    {
        ast.Constant: lambda node: _fixed(node.value),
        ast.Name: _name,
        ast.Attribute: _attribute,
        ast.Call: _call,
        ast.Subscript: _subscript,
        ast.BoolOp: _boolean,
        ast.Compare: compile_comparison,
        ast.IfExp: _conditional,
        ast.BinOp: _binary,
        ast.UnaryOp: _unary,
        ast.JoinedStr: _joined,
        ast.Dict: _dict,
        ast.List: lambda node: _items(node.elts),
        ast.Tuple: _tuple,
        ast.Set: _set,
        ast.ListComp: _comprehension,
        ast.GeneratorExp: _comprehension,
        ast.SetComp: _set_comprehension,
        ast.DictComp: _dict_comprehension,
        ast.NamedExpr: _named,
        ast.Lambda: _lambda,
        ast.Slice: _slice,
    }
)
