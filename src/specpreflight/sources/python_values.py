"""The value of a Python expression, as far as it can be known without running it.

What is not known becomes the text `$(expression)`, so that it can stand inside a command.
"""

from __future__ import annotations

import ast
import json
import operator
import posixpath
import shlex
import textwrap
from collections.abc import Callable, Mapping, Sequence
from typing import Any

_OPERATORS: Mapping[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.BitOr: operator.or_,
}
_COMPARISONS: Mapping[type[ast.cmpop], Callable[[Any, Any], bool]] = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.Is: operator.is_,
    ast.IsNot: operator.is_not,
    ast.In: lambda item, container: item in container,
    ast.NotIn: lambda item, container: item not in container,
}
_FUNCTIONS: Mapping[str, Callable[..., Any]] = {
    "str": str,
    "int": int,
    "float": float,
    "bool": bool,
    "len": len,
    "list": list,
    "tuple": tuple,
    "dict": dict,
    "sorted": sorted,
    "repr": repr,
    "range": lambda *ends: list(range(*ends)[:1000]),
    "max": max,
    "min": min,
    "enumerate": lambda items: list(enumerate(items)),
    "zip": lambda *lists: list(zip(*lists, strict=False)),
    "json.dumps": json.dumps,
    "os.path.join": posixpath.join,
    "os.path.expanduser": str,
    "os.path.abspath": str,
    "os.fspath": str,
    "Path": posixpath.join,
    "pathlib.Path": posixpath.join,
    "shlex.split": shlex.split,
    "textwrap.dedent": textwrap.dedent,
    "shlex.join": shlex.join,
    "shlex.quote": shlex.quote,
}
_METHODS: Mapping[type, frozenset[str]] = {
    str: frozenset(
        (
            "format",
            "split",
            "strip",
            "rstrip",
            "lstrip",
            "replace",
            "upper",
            "lower",
            "join",
            "startswith",
            "endswith",
            "splitlines",
            "removeprefix",
            "removesuffix",
            "title",
        )
    ),
    list: frozenset(("append", "extend", "insert", "copy", "index", "pop", "remove")),
    dict: frozenset(("get", "update", "copy", "items", "keys", "values", "pop", "setdefault")),
}


#: A list or text that is repeated to more than this is no command line.
_LARGEST = 1_000_000


class Unknown(str):
    """The marker of a value that is not known."""

    __slots__ = ()


def _size(value: Any) -> int:
    """Return how often a value repeats another, or how long it is."""
    return abs(value) if isinstance(value, int) else len(value) if hasattr(value, "__len__") else 1


def unknown(node: ast.AST) -> Unknown:
    """Return the marker of an expression."""
    return Unknown(f"$({ast.unparse(node)})")


class Values:
    """Evaluates expressions with the names of the scopes, the innermost last.

    `options` are the defaults of a program's own arguments (`args.model`). `call` is asked first
    for the value of each call; it returns `NotImplemented` for what it does not know.
    """

    def __init__(
        self, environ: dict[str, Any], call: Callable[[ast.Call, str, Values], Any]
    ) -> None:
        self.environ = environ
        self.scopes: list[dict[str, Any]] = [{"__name__": "__main__"}]
        self.options: dict[str, Any] = {}
        self._call = call

    def lookup(self, name: str) -> Any:
        """Return the value of a name, `NotImplemented` where it has none."""
        for scope in reversed(self.scopes):
            if name in scope:
                return scope[name]
        return NotImplemented

    def of(self, node: ast.expr) -> Any:
        """Return the value of an expression."""
        try:
            return self._value(node)
        except (
            ArithmeticError,
            AttributeError,
            LookupError,
            TypeError,
            ValueError,
            RecursionError,
        ):
            return unknown(node)

    def _value(self, node: ast.expr) -> Any:
        match node:
            case ast.Constant():
                return node.value
            case ast.Name():
                found = self.lookup(node.id)
                return unknown(node) if found is NotImplemented else found
            case ast.List() | ast.Tuple() | ast.Set():
                return self.items(node.elts)
            case ast.Dict():
                return self._mapping(node)
            case ast.JoinedStr():
                return "".join(str(self.of(part)) for part in node.values)
            case ast.FormattedValue():
                return self._formatted(node)
            case ast.BinOp():
                return self._binary(node)
            case ast.UnaryOp():
                value = self.of(node.operand)
                if isinstance(value, Unknown):
                    return unknown(node)
                return -value if isinstance(node.op, ast.USub) else not value
            case ast.BoolOp():
                return self._joined(node)
            case ast.Compare():
                return self._compared(node)
            case ast.IfExp():
                test = self.of(node.test)
                return self.of(node.orelse if isinstance(test, Unknown) or not test else node.body)
            case ast.Subscript():
                return self._element(node)
            case ast.Attribute():
                return self._attribute(node)
            case ast.ListComp() | ast.GeneratorExp():
                return self._comprehension(node)
            case ast.Call():
                return self._called(node)
            case ast.NamedExpr():
                value = self.of(node.value)
                self.scopes[-1][node.target.id] = value
                return value
        return unknown(node)

    def items(self, nodes: Sequence[ast.expr]) -> list[Any]:
        """Return the items of a list display, starred ones unpacked."""
        found: list[Any] = []
        for node in nodes:
            if isinstance(node, ast.Starred):
                value = self.of(node.value)
                found.extend([value] if isinstance(value, Unknown) else value)
            else:
                found.append(self.of(node))
        return found

    def _mapping(self, node: ast.Dict) -> dict[Any, Any]:
        found: dict[Any, Any] = {}
        for key, value in zip(node.keys, node.values, strict=True):
            item = self.of(value)
            if key is not None:
                found[self.of(key)] = item
            elif isinstance(item, dict):
                found.update(item)
        return found

    def _formatted(self, node: ast.FormattedValue) -> str:
        value = self.of(node.value)
        if node.conversion == ord("r"):
            value = repr(value)
        if node.format_spec is None or isinstance(value, Unknown):
            return str(value)
        return format(value, str(self.of(node.format_spec)))

    def _binary(self, node: ast.BinOp) -> Any:
        left, right = self.of(node.left), self.of(node.right)
        if isinstance(node.op, ast.Div) and isinstance(left, str):
            return posixpath.join(left, str(right))
        if isinstance(node.op, ast.Mult) and _size(left) * _size(right) > _LARGEST:
            return unknown(node)
        do = _OPERATORS.get(type(node.op))
        both_text = isinstance(left, str) and isinstance(right, str)
        if do is None or (not both_text and isinstance(left, Unknown)):
            return unknown(node)
        return do(left, right)

    def _joined(self, node: ast.BoolOp) -> Any:
        value: Any = None
        for item in node.values:
            value = self.of(item)
            decided = isinstance(node.op, ast.Or) == bool(value)
            if isinstance(value, Unknown):
                if isinstance(node.op, ast.And):
                    return value
                continue
            if decided:
                return value
        return value

    def _compared(self, node: ast.Compare) -> Any:
        left = self.of(node.left)
        for compare, right_node in zip(node.ops, node.comparators, strict=True):
            right = self.of(right_node)
            if isinstance(left, Unknown) or isinstance(right, Unknown):
                return unknown(node)
            if not _COMPARISONS[type(compare)](left, right):
                return False
            left = right
        return True

    def _element(self, node: ast.Subscript) -> Any:
        container = self.of(node.value)
        if isinstance(container, Unknown):
            return unknown(node)
        if isinstance(node.slice, ast.Slice):
            ends = (node.slice.lower, node.slice.upper, node.slice.step)
            return container[slice(*(None if end is None else self.of(end) for end in ends))]
        key = self.of(node.slice)
        if container is self.environ and key not in container:
            return Unknown(f"${{{key}}}")
        return container[key]

    def _attribute(self, node: ast.Attribute) -> Any:
        name = ast.unparse(node)
        if name == "os.environ":
            return self.environ
        if name == "sys.executable":
            return "python"
        if name.startswith("args.") and node.attr in self.options:
            return self.options[node.attr]
        return unknown(node)

    def _comprehension(self, node: ast.ListComp | ast.GeneratorExp) -> Any:
        if len(node.generators) != 1:
            return unknown(node)
        generator = node.generators[0]
        source = self.of(generator.iter)
        if isinstance(source, Unknown):
            return unknown(node)
        found = []
        for item in source:
            self.scopes.append({})
            self.bind(generator.target, item)
            if all(self.of(test) for test in generator.ifs):
                found.append(self.of(node.elt))
            self.scopes.pop()
        return found

    def bind(self, target: ast.expr, value: Any) -> None:
        """Assign to a name, a tuple of names, or an item."""
        match target:
            case ast.Name():
                self.scopes[-1][target.id] = value
            case ast.Tuple() | ast.List():
                several = isinstance(value, (list, tuple)) and len(value) == len(target.elts)
                for at, item in enumerate(target.elts):
                    self.bind(item, value[at] if several else unknown(item))
            case ast.Subscript():
                container = self.of(target.value)
                if isinstance(container, (dict, list)):
                    container[self.of(target.slice)] = value

    def _called(self, node: ast.Call) -> Any:
        name = ast.unparse(node.func)
        answer = self._call(node, name, self)
        if answer is not NotImplemented:
            return answer
        arguments = self.items(node.args)
        keywords = {key.arg: self.of(key.value) for key in node.keywords if key.arg}
        for key in node.keywords:
            if key.arg is None and isinstance(more := self.of(key.value), dict):
                keywords.update(more)
        if name in ("os.environ.get", "os.getenv"):
            default = arguments[1] if len(arguments) > 1 else Unknown(f"${{{arguments[0]}}}")
            return self.environ.get(arguments[0], default)
        if name in _FUNCTIONS:
            if any(isinstance(value, Unknown) for value in arguments) and name != "json.dumps":
                return arguments[0] if name == "str" else unknown(node)
            return _FUNCTIONS[name](*arguments, **keywords)
        if isinstance(node.func, ast.Attribute):
            return self._method(node, node.func, arguments, keywords)
        return unknown(node)

    def _method(
        self, node: ast.Call, function: ast.Attribute, arguments: list[Any], keywords: Any
    ) -> Any:
        owner = self.of(function.value)
        for kind, names in _METHODS.items():
            if isinstance(owner, kind) and function.attr in names:
                if function.attr == "join" and isinstance(arguments[0], list):
                    arguments = [[str(item) for item in arguments[0]]]
                if isinstance(owner, Unknown) and function.attr != "join":
                    return unknown(node)
                if function.attr == "extend" and isinstance(arguments[0], Unknown):
                    arguments = [[arguments[0]]]
                result = getattr(owner, function.attr)(*arguments, **keywords)
                return list(result) if function.attr in ("items", "keys", "values") else result
        return unknown(node)
