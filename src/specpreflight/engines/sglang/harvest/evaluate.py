"""Evaluates the constant expressions of a source tree: literals, names, sums, a few calls.

Whatever depends on run time (hardware, an import from outside the tree, a call) is `UNKNOWN`;
a container with one unknown element stays a container, with `UNKNOWN` in that place.
"""

from __future__ import annotations

import argparse
import ast
import operator
import sys
from collections.abc import Callable, Mapping
from typing import Any

from specpreflight.engines.sglang.facts import UNKNOWN
from specpreflight.engines.sglang.harvest.source_tree import Module, SourceTree

_OPERATORS: Mapping[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Pow: operator.pow,
    ast.LShift: operator.lshift,
    ast.BitOr: operator.or_,
}
_BUILTINS: Mapping[str, Callable[..., Any]] = {
    "dict": dict,
    "float": float,
    "frozenset": frozenset,
    "int": int,
    "list": list,
    "OrderedDict": dict,
    "range": range,
    "set": set,
    "sorted": sorted,
    "str": str,
    "tuple": tuple,
}
#: What the standard library gives on every machine.
_KNOWN: Mapping[tuple[str, str], Any] = {
    ("argparse", "SUPPRESS"): argparse.SUPPRESS,
    ("sys", "maxsize"): sys.maxsize,
}
_METHODS = frozenset({"lower", "upper", "strip", "keys", "values", "items", "copy", "split"})
_LARGEST = 10_000
_DEEPEST = 40


class EnumMember(str):
    """A member of an enumeration: its value's text, with `name`."""

    name: str = ""


class Evaluator:
    """Evaluates expressions of one tree."""

    def __init__(self, tree: SourceTree) -> None:
        self.tree = tree

    def evaluate(
        self, node: ast.expr, module: Module, local: Mapping[str, Any] | None = None
    ) -> Any:
        """Return the value of `node` as it stands in `module`, or `UNKNOWN`.

        `local` gives values (or unevaluated expressions) for names of an enclosing function.
        """
        try:
            return self._value(node, module, local or {}, 0)
        except (TypeError, ValueError, ArithmeticError, KeyError, IndexError, AttributeError):
            return UNKNOWN

    def class_value(self, module: Module, class_name: str, attribute: str) -> Any:
        """Return the value that a class body gives to `attribute`, `UNKNOWN` if none."""
        found = self.tree.find(module, class_name)
        if found is None or not isinstance(found[1], ast.ClassDef):
            return UNKNOWN
        return self._class_attribute(found[0], found[1], attribute, 0)

    def _value(self, node: ast.expr, module: Module, local: Mapping[str, Any], depth: int) -> Any:
        if depth > _DEEPEST:
            return UNKNOWN
        depth += 1

        def value(part: ast.expr) -> Any:
            return self._value(part, module, local, depth)

        match node:
            case ast.Constant(value=constant):
                return constant
            case ast.JoinedStr(values=parts):
                return _joined([value(part) for part in parts])
            case ast.FormattedValue(value=inner, conversion=-1, format_spec=None):
                return value(inner)
            case ast.List(elts=parts):
                return self._elements(parts, value)
            case ast.Tuple(elts=parts):
                return tuple(self._elements(parts, value))
            case ast.Set(elts=parts):
                return set(self._elements(parts, value))
            case ast.Dict(keys=keys, values=values):
                return self._dictionary(keys, values, value)
            case ast.UnaryOp(op=ast.USub(), operand=inner):
                return -value(inner)
            case ast.UnaryOp(op=ast.Not(), operand=inner):
                known = value(inner)
                return UNKNOWN if known is UNKNOWN else not known
            case ast.BinOp(left=left, op=op, right=right):
                return self._operation(type(op), value(left), value(right))
            case ast.BoolOp(op=ast.Or(), values=parts):
                return self._first_truth(parts, value)
            case ast.IfExp(test=test, body=then, orelse=other):
                known = value(test)
                return UNKNOWN if known is UNKNOWN else value(then if known else other)
            case ast.Name(id=name):
                return self._name(name, module, local, depth)
            case ast.Attribute(value=owner, attr=attribute):
                return self._attribute(owner, attribute, module, local, depth)
            case ast.Subscript(value=owner, slice=key):
                return value(owner)[value(key)]
            case (
                ast.ListComp(elt=element, generators=[one])
                | ast.SetComp(elt=element, generators=[one])
            ):
                return self._comprehension(element, one, module, local, depth)
            case ast.Call():
                return self._call(node, module, local, depth)
        return UNKNOWN

    @staticmethod
    def _elements(parts: list[ast.expr], value: Callable[[ast.expr], Any]) -> list[Any]:
        found: list[Any] = []
        for part in parts:
            if isinstance(part, ast.Starred):
                found.extend(value(part.value))
            else:
                found.append(value(part))
        return found

    @staticmethod
    def _dictionary(
        keys: list[ast.expr | None], values: list[ast.expr], value: Callable[[ast.expr], Any]
    ) -> Any:
        found: dict[Any, Any] = {}
        for key, part in zip(keys, values, strict=True):
            if key is None:
                found.update(value(part))
            else:
                found[value(key)] = value(part)
        return found

    @staticmethod
    def _operation(kind: type[ast.operator], left: Any, right: Any) -> Any:
        if left is UNKNOWN or right is UNKNOWN or kind not in _OPERATORS:
            return UNKNOWN
        if kind in (ast.Pow, ast.LShift) and right > 64:
            return UNKNOWN
        return _OPERATORS[kind](left, right)

    @staticmethod
    def _first_truth(parts: list[ast.expr], value: Callable[[ast.expr], Any]) -> Any:
        known: Any = UNKNOWN
        for part in parts:
            known = value(part)
            if known is UNKNOWN or known:
                return known
        return known

    def _name(self, name: str, module: Module, local: Mapping[str, Any], depth: int) -> Any:
        if name in local:
            known = local[name]
            return (
                self._value(known, module, {**local, name: UNKNOWN}, depth)
                if isinstance(known, ast.expr)
                else known
            )
        found = self.tree.find(module, name)
        if found is None or not isinstance(found[1], ast.expr):
            return UNKNOWN
        return self._value(found[1], found[0], {}, depth)

    def _attribute(
        self,
        owner: ast.expr,
        attribute: str,
        module: Module,
        local: Mapping[str, Any],
        depth: int,
    ) -> Any:
        if isinstance(owner, ast.Name):
            if (owner.id, attribute) in _KNOWN:
                return _KNOWN[owner.id, attribute]
            known = local.get(owner.id)
            if isinstance(known, EnumMember):
                return known.name if attribute == "name" else str(known)
            found = self.tree.find(module, owner.id)
            if found is not None and isinstance(found[1], ast.ClassDef):
                return self._class_attribute(found[0], found[1], attribute, depth)
            imported = module.imported(owner.id)
            if imported is not None:
                inner = self.tree.module(
                    imported.module
                    if imported.attribute is None
                    else f"{imported.module}.{imported.attribute}"
                )
                if inner is not None:
                    return self._name(attribute, inner, {}, depth)
        if isinstance(owner, ast.Attribute) and attribute in ("value", "name"):
            return self._value(owner, module, local, depth)
        return UNKNOWN

    def _class_attribute(
        self, module: Module, node: ast.ClassDef, attribute: str, depth: int
    ) -> Any:
        body = {
            statement.targets[0].id: statement.value
            for statement in node.body
            if isinstance(statement, ast.Assign) and isinstance(statement.targets[0], ast.Name)
        }
        for statement in node.body:
            match statement:
                case ast.Assign(targets=[ast.Name(id=name)], value=given) if name == attribute:
                    return self._value(given, module, body, depth)
                case ast.AnnAssign(target=ast.Name(id=name), value=ast.expr() as given) if (
                    name == attribute
                ):
                    return self.field_default(given, module, depth)
        return UNKNOWN

    def field_default(self, node: ast.expr, module: Module, depth: int = 0) -> Any:
        """Return the default that the value of a dataclass field stands for."""
        match node:
            case ast.Call(func=ast.Name(id="field") | ast.Attribute(attr="field"), keywords=given):
                for keyword in given:
                    if keyword.arg == "default":
                        return self._value(keyword.value, module, {}, depth)
                    if keyword.arg == "default_factory":
                        return self._produced(keyword.value, module, depth)
                return UNKNOWN
        return self._value(node, module, {}, depth)

    def _produced(self, factory: ast.expr, module: Module, depth: int) -> Any:
        match factory:
            case ast.Name(id="list"):
                return []
            case ast.Name(id="dict"):
                return {}
            case ast.Lambda(body=body):
                return self._value(body, module, {}, depth)
        return UNKNOWN

    def _comprehension(
        self,
        element: ast.expr,
        loop: ast.comprehension,
        module: Module,
        local: Mapping[str, Any],
        depth: int,
    ) -> Any:
        items = self._members(loop.iter, module, local, depth)
        if items is UNKNOWN or loop.ifs or not isinstance(loop.target, ast.Name):
            return UNKNOWN
        return [
            self._value(element, module, {**local, loop.target.id: item}, depth) for item in items
        ]

    def _members(self, node: ast.expr, module: Module, local: Mapping[str, Any], depth: int) -> Any:
        if isinstance(node, ast.Name):
            found = self.tree.find(module, node.id)
            if found is not None and isinstance(found[1], ast.ClassDef):
                return self._enumeration(found[0], found[1], depth)
        known = self._value(node, module, local, depth)
        return known if known is UNKNOWN or len(known) <= _LARGEST else UNKNOWN

    def _enumeration(self, module: Module, node: ast.ClassDef, depth: int) -> Any:
        members = []
        for statement in node.body:
            match statement:
                case ast.Assign(targets=[ast.Name(id=name)], value=given):
                    member = EnumMember(self._value(given, module, {}, depth))
                    member.name = name
                    members.append(member)
        return members or UNKNOWN

    def _call(self, node: ast.Call, module: Module, local: Mapping[str, Any], depth: int) -> Any:
        match node.func:
            case ast.Subscript(value=ast.Name(id="OrderedDict")):
                return self._call(
                    ast.Call(ast.Name("OrderedDict"), node.args, node.keywords),
                    module,
                    local,
                    depth,
                )
            case ast.Name(id=name) if name in _BUILTINS and not node.keywords:
                given = [self._members(argument, module, local, depth) for argument in node.args]
                return UNKNOWN if UNKNOWN in given else _BUILTINS[name](*given)
            case ast.Name(id=("dict" | "OrderedDict")):
                found: dict[Any, Any] = {}
                for keyword in node.keywords:
                    known = self._value(keyword.value, module, local, depth)
                    found.update(known if keyword.arg is None else {keyword.arg: known})
                return found
            case ast.Attribute(
                value=ast.Attribute(value=ast.Name(id="envs"), attr=variable), attr="get"
            ):
                return self._environment_default(variable, module, depth)
            case ast.Attribute(value=owner, attr=method) if method in _METHODS:
                known = self._value(owner, module, local, depth)
                given = [self._value(argument, module, local, depth) for argument in node.args]
                if known is UNKNOWN or UNKNOWN in given:
                    return UNKNOWN
                result = getattr(known, method)(*given)
                return list(result) if method in ("keys", "values", "items") else result
            case ast.Name(id=name) if not node.args and not node.keywords:
                return self._returned(name, module, depth)
        return UNKNOWN

    def _returned(self, name: str, module: Module, depth: int) -> Any:
        """Return what a function without parameters gives, if only its last return can decide."""
        found = self.tree.find(module, name)
        if found is None or not isinstance(found[1], ast.FunctionDef):
            return UNKNOWN
        last = found[1].body[-1]
        if not isinstance(last, ast.Return) or last.value is None:
            return UNKNOWN
        return self._value(last.value, found[0], {}, depth)

    def _environment_default(self, variable: str, module: Module, depth: int) -> Any:
        found = self.tree.find(module, "Envs") or self._environ_class()
        if found is None or not isinstance(found[1], ast.ClassDef):
            return UNKNOWN
        for statement in found[1].body:
            match statement:
                case ast.Assign(
                    targets=[ast.Name(id=name)], value=ast.Call(args=[default, *_])
                ) if name == variable:
                    return self._value(default, found[0], {}, depth)
        return UNKNOWN

    def _environ_class(self) -> tuple[Module, ast.ClassDef] | None:
        environ = self.tree.at("srt/environ.py")
        node = environ.class_("Envs") if environ else None
        return (environ, node) if environ and node else None


def _joined(parts: list[Any]) -> Any:
    return UNKNOWN if UNKNOWN in parts else "".join(str(part) for part in parts)
