"""Evaluates statements."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Mapping
from typing import Any

from specpreflight.engines.source.expressions import Expressions
from specpreflight.engines.source.modules import origin_of
from specpreflight.engines.source.natives import call_python
from specpreflight.engines.source.values import (
    External,
    Frame,
    Instance,
    Opaque,
    Raised,
    last_name,
    raised,
)


class Return(Exception):
    """Ends a function with a value."""

    def __init__(self, value: Any) -> None:
        self.value = value


class _Break(Exception):
    pass


class _Continue(Exception):
    pass


class Statements(Expressions):
    """The part of the evaluator that runs statements."""

    def run(self, body: list[ast.stmt], frame: Frame) -> None:
        """Evaluate statements in order."""
        for statement in body:
            self.statement(statement, frame)

    def statement(self, node: ast.stmt, frame: Frame) -> None:
        """Evaluate one statement."""
        evaluate = _STATEMENTS.get(type(node))
        if evaluate is None:
            self.doubts.append(f"{frame.module.name}:{frame.function}: {type(node).__name__}")
        else:
            evaluate(self, node, frame)

    def _expression(self, node: ast.Expr, frame: Frame) -> None:
        self.value(node.value, frame)

    def _assignment(self, node: ast.Assign, frame: Frame) -> None:
        value = self.value(node.value, frame)
        for target in node.targets:
            self.assign(target, value, frame)

    def _annotated(self, node: ast.AnnAssign, frame: Frame) -> None:
        if node.value is not None:
            self.assign(node.target, self.value(node.value, frame), frame)

    def _augmented(self, node: ast.AugAssign, frame: Frame) -> None:
        before, after = self.value(node.target, frame), self.value(node.value, frame)
        self.assign(node.target, self.binary(node.op, before, after), frame)

    def _return(self, node: ast.Return, frame: Frame) -> None:
        raise Return(None if node.value is None else self.value(node.value, frame))

    def _raise(self, node: ast.Raise, frame: Frame) -> None:
        raise self._exception(node, frame)

    def _function(self, node: ast.FunctionDef, frame: Frame) -> None:
        frame.names[node.name] = self.define(node, frame)

    def _class(self, node: ast.ClassDef, frame: Frame) -> None:
        frame.names[node.name] = self.define_class(node, frame)

    def _delete(self, node: ast.Delete, frame: Frame) -> None:
        for target in node.targets:
            self._unbind(target, frame)

    def _break(self, node: ast.Break, frame: Frame) -> None:
        raise _Break

    def _continue(self, node: ast.Continue, frame: Frame) -> None:
        raise _Continue

    def _nothing(self, node: ast.stmt, frame: Frame) -> None:
        pass

    def _branch(self, node: ast.If, frame: Frame) -> None:
        test = self.value(node.test, frame)
        truth = self.truth(test)
        if truth is None:
            self.doubts.append(f"{frame.module.name}:{frame.function}: {test!r}")
            self._forget([*node.body, *node.orelse], frame)
            if _may_return([*node.body, *node.orelse]):
                raise Return(Opaque(f"{frame.function}()"))
        else:
            self.run(node.body if truth else node.orelse, frame)

    def _forget(self, body: list[ast.stmt], frame: Frame) -> None:
        """Make unknown what statements that may or may not run would have set."""
        for statement in body:
            for inner in ast.walk(statement):
                if isinstance(inner, (ast.Assign, ast.AnnAssign, ast.AugAssign)):
                    targets = inner.targets if isinstance(inner, ast.Assign) else [inner.target]
                    for target in targets:
                        if isinstance(target, (ast.Name, ast.Attribute)):
                            self.assign(target, Opaque(ast.unparse(target)), frame)

    def _loop(self, node: ast.For, frame: Frame) -> None:
        items = self.value(node.iter, frame)
        if isinstance(items, (Opaque, Instance)):
            self.doubts.append(f"{frame.module.name}:{frame.function}: loop over {items!r}")
            self._forget(node.body, frame)
            return
        for item in self.iterate(items):
            self.assign(node.target, item, frame)
            try:
                self.run(node.body, frame)
            except _Break:
                return
            except _Continue:
                continue
        self.run(node.orelse, frame)

    def _while(self, node: ast.While, frame: Frame) -> None:
        for _ in range(10_000):
            if not self.truth(self.value(node.test, frame)):
                return
            try:
                self.run(node.body, frame)
            except _Break:
                return
            except _Continue:
                continue

    def _exception(self, node: ast.Raise, frame: Frame) -> Raised:
        if node.exc is None:
            current = frame.names.get("<exception>")
            return current if isinstance(current, Raised) else raised("RuntimeError", "")
        if isinstance(node.exc, ast.Call):
            name = last_name(node.exc.func)
            args = [self.value(argument, frame) for argument in node.exc.args]
            if args and name == "KeyError":
                return raised(name, repr(args[0]))
            return raised(name, self.text(args[0]) if args else "")
        value = self.value(node.exc, frame)
        return value if isinstance(value, Raised) else raised(last_name(node.exc), "")

    def _assert(self, node: ast.Assert, frame: Frame) -> None:
        if self.truth(self.value(node.test, frame)) is False:
            message = "" if node.msg is None else self.text(self.value(node.msg, frame))
            raise raised("AssertionError", message)

    def _try(self, node: ast.Try, frame: Frame) -> None:
        try:
            self.run(node.body, frame)
        except Raised as error:
            for handler in node.handlers:
                if _catches(handler, error):
                    frame.names["<exception>"] = error
                    if handler.name:
                        frame.names[handler.name] = error
                    self.run(handler.body, frame)
                    break
            else:
                raise
        else:
            self.run(node.orelse, frame)
        finally:
            self.run(node.finalbody, frame)

    def _with(self, node: ast.With, frame: Frame) -> None:
        suppressed: set[str] = set()
        for item in node.items:
            call = item.context_expr
            if isinstance(call, ast.Call) and last_name(call.func) == "suppress":
                suppressed.update(last_name(argument) for argument in call.args)
                continue
            value = self.value(call, frame)
            if item.optional_vars is not None:
                self.assign(item.optional_vars, value, frame)
        try:
            self.run(node.body, frame)
        except Raised as error:
            if not suppressed & error.bases:
                raise

    def _import(self, node: ast.Import | ast.ImportFrom, frame: Frame) -> None:
        names = [node.module or ""] if isinstance(node, ast.ImportFrom) else []
        for name in names or [alias.name for alias in node.names]:
            package = name.split(".")[0]
            if package in self.absent:
                raise raised("ModuleNotFoundError", f"No module named '{package}'")
        if isinstance(node, ast.Import):
            for alias in node.names:
                if alias.asname:
                    frame.names[alias.asname] = self.find(alias.name)
                else:
                    root = alias.name.split(".")[0]
                    frame.names[root] = self.find(root)
            return
        origin = origin_of(node, frame.module)
        for alias in node.names:
            if alias.name != "*":
                frame.names[alias.asname or alias.name] = self.find(f"{origin}.{alias.name}")

    def _unbind(self, target: ast.expr, frame: Frame) -> None:
        if isinstance(target, ast.Name):
            frame.names.pop(target.id, None)
        elif isinstance(target, ast.Attribute):
            self.delete_attribute(self.value(target.value, frame), target.attr)
        elif isinstance(target, ast.Subscript):
            owner, key = self.value(target.value, frame), self.value(target.slice, frame)
            call_python(operator.delitem, [owner, key], {})

    def assign(self, target: ast.expr, value: Any, frame: Frame) -> None:
        """Bind a target of an assignment."""
        match target:
            case ast.Name():
                frame.names[target.id] = value
            case ast.Attribute():
                self.set_attribute(self.value(target.value, frame), target.attr, value)
            case ast.Subscript():
                owner = self.value(target.value, frame)
                if not isinstance(owner, (External, Opaque)):
                    key = self.value(target.slice, frame)
                    call_python(operator.setitem, [owner, key, value], {})
            case ast.Tuple() | ast.List():
                items: list[Any] = (
                    [value] * len(target.elts)
                    if isinstance(value, Opaque)
                    else list(self.iterate(value))
                )
                for inner, item in zip(target.elts, items, strict=False):
                    self.assign(inner, item, frame)


_STATEMENTS: Mapping[type[ast.stmt], Callable[[Statements, Any, Frame], None]] = {
    ast.Expr: Statements._expression,
    ast.Assign: Statements._assignment,
    ast.AnnAssign: Statements._annotated,
    ast.AugAssign: Statements._augmented,
    ast.If: Statements._branch,
    ast.Return: Statements._return,
    ast.For: Statements._loop,
    ast.While: Statements._while,
    ast.Raise: Statements._raise,
    ast.Assert: Statements._assert,
    ast.Try: Statements._try,
    ast.With: Statements._with,
    ast.FunctionDef: Statements._function,
    ast.ClassDef: Statements._class,
    ast.Import: Statements._import,
    ast.ImportFrom: Statements._import,
    ast.Delete: Statements._delete,
    ast.Break: Statements._break,
    ast.Continue: Statements._continue,
    ast.Pass: Statements._nothing,
    ast.Global: Statements._nothing,
    ast.Nonlocal: Statements._nothing,
}


def _may_return(body: list[ast.stmt]) -> bool:
    """Return whether statements may end their function, so that what follows is unknown too."""
    return any(isinstance(inner, ast.Return) for statement in body for inner in ast.walk(statement))


def _catches(handler: ast.ExceptHandler, error: Raised) -> bool:
    if handler.type is None:
        return True
    kinds = handler.type.elts if isinstance(handler.type, ast.Tuple) else [handler.type]
    return any(last_name(kind) in error.bases for kind in kinds)
