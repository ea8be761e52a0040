"""Compiles statements: of a body, once a process, a function that runs it.

Such a function returns how the body ended: `None` at its end, a `Returned` value, or one of the two
marks that leave a round of a loop. Bodies of branches are compiled when they are first taken, since
most never are.
"""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any, Final

from specpreflight.engines.source.codes import code_of
from specpreflight.engines.source.expressions import Assigner, assigner_of
from specpreflight.engines.source.modules import origin_of
from specpreflight.engines.source.natives import call_python
from specpreflight.engines.source.operations import truth
from specpreflight.engines.source.values import (
    Code,
    Frame,
    Instance,
    Opaque,
    Raised,
    last_name,
    raised,
)

if TYPE_CHECKING:
    from specpreflight.engines.source.evaluator import Evaluator


class Returned:
    """A function ended with a value."""

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = value


_BREAK: Final = object()
_CONTINUE: Final = object()

#: Rounds after which a `while` is given up.
_MANY_ROUNDS: Final = 10_000


def block(body: Sequence[ast.stmt]) -> Code:
    """Return what runs statements in order."""
    if not body:
        return _nothing(None)
    statements = tuple(map(_compile, body))
    if len(statements) == 1:
        return statements[0]

    def run(evaluator: Evaluator, frame: Frame) -> Any:
        for statement in statements:
            ended = statement(evaluator, frame)
            if ended is not None:
                return ended
        return None

    return run


def _later(body: Sequence[ast.stmt]) -> Code:
    """Return what runs statements, compiled when they are first run."""
    if not body:
        return _nothing(None)
    compiled: Code | None = None

    def run(evaluator: Evaluator, frame: Frame) -> Any:
        nonlocal compiled
        if compiled is None:
            compiled = block(body)
        return compiled(evaluator, frame)

    return run


def _compile(node: ast.stmt) -> Code:
    compile_node = _STATEMENTS.get(type(node))
    return _not_understood(node) if compile_node is None else compile_node(node)


def _not_understood(node: ast.stmt) -> Code:
    def doubt(evaluator: Evaluator, frame: Frame) -> None:
        evaluator.doubt(frame, type(node).__name__)

    return doubt


def _nothing(node: ast.stmt | None) -> Code:
    return lambda evaluator, frame: None


def _expression(node: ast.Expr) -> Code:
    code = code_of(node.value)

    def run(evaluator: Evaluator, frame: Frame) -> None:
        code(evaluator, frame)

    return run


def _assignment(node: ast.Assign) -> Code:
    code = code_of(node.value)
    targets = tuple(map(assigner_of, node.targets))
    if isinstance(node.targets[0], ast.Name) and len(targets) == 1:
        name = node.targets[0].id

        def assign_name(evaluator: Evaluator, frame: Frame) -> None:
            frame.names[name] = code(evaluator, frame)

        return assign_name

    def assign(evaluator: Evaluator, frame: Frame) -> None:
        value = code(evaluator, frame)
        for bind in targets:
            bind(evaluator, frame, value)

    return assign


def _annotated(node: ast.AnnAssign) -> Code:
    if node.value is None:
        return _nothing(node)
    return _assignment(ast.Assign([node.target], node.value))


def _augmented(node: ast.AugAssign) -> Code:
    before, after = code_of(node.target), code_of(node.value)
    bind, operation = assigner_of(node.target), type(node.op)

    def assign(evaluator: Evaluator, frame: Frame) -> None:
        left, right = before(evaluator, frame), after(evaluator, frame)
        bind(evaluator, frame, evaluator.binary(operation, left, right))

    return assign


def _delete(node: ast.Delete) -> Code:
    unbinders = tuple(map(_unbinder, node.targets))

    def run(evaluator: Evaluator, frame: Frame) -> None:
        for unbind in unbinders:
            unbind(evaluator, frame)

    return run


def _unbinder(target: ast.expr) -> Code:
    match target:
        case ast.Name(id=name):
            return lambda evaluator, frame: frame.names.pop(name, None)
        case ast.Attribute(attr=name):
            subject = code_of(target.value)
            return lambda evaluator, frame: evaluator.delete_attribute(
                subject(evaluator, frame), name
            )
        case ast.Subscript():
            owner, key = code_of(target.value), code_of(target.slice)
            return lambda evaluator, frame: call_python(
                operator.delitem, [owner(evaluator, frame), key(evaluator, frame)], {}
            )
    return _nothing(None)


# definitions


def _function(node: ast.FunctionDef) -> Code:
    def define(evaluator: Evaluator, frame: Frame) -> None:
        frame.names[node.name] = evaluator.define(node, frame)

    return define


def _class(node: ast.ClassDef) -> Code:
    def define(evaluator: Evaluator, frame: Frame) -> None:
        frame.names[node.name] = evaluator.define_class(node, frame)

    return define


def _import(node: ast.Import | ast.ImportFrom) -> Code:
    if isinstance(node, ast.ImportFrom):
        packages = [node.module or ""]
    else:
        packages = [alias.name for alias in node.names]

    def run(evaluator: Evaluator, frame: Frame) -> None:
        for name in packages:
            package = name.split(".")[0]
            if package in evaluator.absent:
                raise raised("ModuleNotFoundError", f"No module named '{package}'")
        for name, dotted in _imported(node, frame):
            frame.names[name] = evaluator.find(dotted)

    return run


def _imported(node: ast.Import | ast.ImportFrom, frame: Frame) -> list[tuple[str, str]]:
    """Return the names that an import binds, and the dotted names that they stand for."""
    if isinstance(node, ast.ImportFrom):
        origin = origin_of(node, frame.module)
        return [
            (alias.asname or alias.name, f"{origin}.{alias.name}")
            for alias in node.names
            if alias.name != "*"
        ]
    roots = ((alias, alias.name.split(".")[0]) for alias in node.names)
    return [(alias.asname, alias.name) if alias.asname else (root, root) for alias, root in roots]


# branches and loops


def _branch(node: ast.If) -> Code:
    test, body, orelse = code_of(node.test), _later(node.body), _later(node.orelse)
    either = (*node.body, *node.orelse)

    def branch(evaluator: Evaluator, frame: Frame) -> Any:
        value = test(evaluator, frame)
        if type(value) is Opaque:
            evaluator.doubt(frame, repr(value))
            _forget(either, evaluator, frame)
            return Returned(Opaque(f"{frame.function}()")) if _may_return(either) else None
        return body(evaluator, frame) if value else orelse(evaluator, frame)

    return branch


def _forget(body: tuple[ast.stmt, ...], evaluator: Evaluator, frame: Frame) -> None:
    """Make unknown what statements that may or may not run would have set."""
    for assign, unknown in _assigned(body):
        assign(evaluator, frame, unknown)


@cache
def _assigned(body: tuple[ast.stmt, ...]) -> list[tuple[Assigner, Opaque]]:
    """Return what statements may set, and the unknown value of each."""
    return [
        (assigner_of(target), Opaque(ast.unparse(target)))
        for statement in body
        for inner in ast.walk(statement)
        if isinstance(inner, (ast.Assign, ast.AnnAssign, ast.AugAssign))
        for target in (inner.targets if isinstance(inner, ast.Assign) else [inner.target])
        if isinstance(target, (ast.Name, ast.Attribute))
    ]


@cache
def _may_return(body: tuple[ast.stmt, ...]) -> bool:
    """Return whether statements may end their function, so that what follows is unknown too."""
    return any(isinstance(inner, ast.Return) for statement in body for inner in ast.walk(statement))


def _for(node: ast.For) -> Code:
    source, bind = code_of(node.iter), assigner_of(node.target)
    body, orelse = _later(node.body), _later(node.orelse)

    def loop(evaluator: Evaluator, frame: Frame) -> Any:
        items = source(evaluator, frame)
        if isinstance(items, (Opaque, Instance)):
            evaluator.doubt(frame, f"loop over {items!r}")
            _forget(tuple(node.body), evaluator, frame)
            return None
        for item in evaluator.iterate(items):
            bind(evaluator, frame, item)
            ended = body(evaluator, frame)
            if ended is _BREAK:
                return None
            if isinstance(ended, Returned):
                return ended
        return orelse(evaluator, frame)

    return loop


def _while(node: ast.While) -> Code:
    test, body = code_of(node.test), _later(node.body)

    def loop(evaluator: Evaluator, frame: Frame) -> Any:
        for _ in range(_MANY_ROUNDS):
            if not truth(test(evaluator, frame)):
                return None
            ended = body(evaluator, frame)
            if ended is _BREAK:
                return None
            if isinstance(ended, Returned):
                return ended
        return None

    return loop


def _return(node: ast.Return) -> Code:
    if node.value is None:
        return lambda evaluator, frame: Returned(None)
    code = code_of(node.value)
    return lambda evaluator, frame: Returned(code(evaluator, frame))


# exceptions


def _raise(node: ast.Raise) -> Code:
    make = _exception(node)

    def run(evaluator: Evaluator, frame: Frame) -> None:
        raise make(evaluator, frame)

    return run


def _exception(node: ast.Raise) -> Callable[[Evaluator, Frame], Raised]:
    if node.exc is None:
        return _current_exception
    name = last_name(node.exc.func if isinstance(node.exc, ast.Call) else node.exc)
    if not isinstance(node.exc, ast.Call):
        code = code_of(node.exc)

        def known_or_named(evaluator: Evaluator, frame: Frame) -> Raised:
            value = code(evaluator, frame)
            return value if isinstance(value, Raised) else raised(name, "")

        return known_or_named
    arguments = tuple(map(code_of, node.exc.args))

    def make(evaluator: Evaluator, frame: Frame) -> Raised:
        args = [argument(evaluator, frame) for argument in arguments]
        if args and name == "KeyError":
            return raised(name, repr(args[0]))
        return raised(name, evaluator.text(args[0]) if args else "")

    return make


def _current_exception(evaluator: Evaluator, frame: Frame) -> Raised:
    current = frame.names.get("<exception>")
    return current if isinstance(current, Raised) else raised("RuntimeError", "")


def _assert(node: ast.Assert) -> Code:
    test, message = code_of(node.test), None if node.msg is None else code_of(node.msg)

    def run(evaluator: Evaluator, frame: Frame) -> None:
        if truth(test(evaluator, frame)) is False:
            text = "" if message is None else evaluator.text(message(evaluator, frame))
            raise raised("AssertionError", text)

    return run


def _try(node: ast.Try) -> Code:
    body, orelse = block(node.body), _later(node.orelse)
    handlers = [(_caught_by(each), each.name, _later(each.body)) for each in node.handlers]

    def attempt(evaluator: Evaluator, frame: Frame) -> Any:
        try:
            ended = body(evaluator, frame)
        except Raised as error:
            for catches, name, handler in handlers:
                if catches(error):
                    frame.names["<exception>"] = error
                    if name:
                        frame.names[name] = error
                    return handler(evaluator, frame)
            raise
        return orelse(evaluator, frame) if ended is None else ended

    return _finally(attempt, block(node.finalbody)) if node.finalbody else attempt


def _caught_by(handler: ast.ExceptHandler) -> Callable[[Raised], bool]:
    if handler.type is None:
        return lambda error: True
    kinds = handler.type.elts if isinstance(handler.type, ast.Tuple) else [handler.type]
    names = frozenset(map(last_name, kinds))
    return lambda error: not names.isdisjoint(error.bases)


def _finally(attempt: Code, final: Code) -> Code:
    def run(evaluator: Evaluator, frame: Frame) -> Any:
        try:
            ended = attempt(evaluator, frame)
        except Exception:
            last = final(evaluator, frame)
            if last is None:
                raise
            return last
        last = final(evaluator, frame)
        return ended if last is None else last

    return run


def _with(node: ast.With) -> Code:
    suppressed: set[str] = set()
    entered = []
    for item in node.items:
        call = item.context_expr
        if isinstance(call, ast.Call) and last_name(call.func) == "suppress":
            suppressed.update(map(last_name, call.args))
        else:
            target = item.optional_vars
            entered.append((code_of(call), None if target is None else assigner_of(target)))
    body = block(node.body)

    def run(evaluator: Evaluator, frame: Frame) -> Any:
        for code, bind in entered:
            value = code(evaluator, frame)
            if bind is not None:
                bind(evaluator, frame, value)
        try:
            return body(evaluator, frame)
        except Raised as error:
            if suppressed.isdisjoint(error.bases):
                raise
        return None

    return run


_STATEMENTS: Final[Mapping[type[ast.stmt], Callable[[Any], Code]]] = {
    ast.Expr: _expression,
    ast.Assign: _assignment,
    ast.AnnAssign: _annotated,
    ast.AugAssign: _augmented,
    ast.If: _branch,
    ast.Return: _return,
    ast.For: _for,
    ast.While: _while,
    ast.Raise: _raise,
    ast.Assert: _assert,
    ast.Try: _try,
    ast.With: _with,
    ast.FunctionDef: _function,
    ast.ClassDef: _class,
    ast.Import: _import,
    ast.ImportFrom: _import,
    ast.Delete: _delete,
    ast.Break: lambda node: lambda evaluator, frame: _BREAK,
    ast.Continue: lambda node: lambda evaluator, frame: _CONTINUE,
    ast.Pass: _nothing,
    ast.Global: _nothing,
    ast.Nonlocal: _nothing,
}
