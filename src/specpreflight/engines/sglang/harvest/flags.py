"""The option table of `ServerArgs.add_cli_args`, in each of the three styles it has had.

Up to 0.5.13 every option is an `add_argument` call. From 0.5.14 most are annotations of the
dataclass (`name: A[type, Arg(...)] = default`), from 0.5.20 of the namespace classes in
`arg_groups/fields/*.py`; deprecated ones and those with computed choices are still calls.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from typing import Any

from specpreflight.engines.sglang.facts import UNKNOWN, Flag, Unknown
from specpreflight.engines.sglang.harvest.annotated_options import Keywords, annotated_option
from specpreflight.engines.sglang.harvest.evaluate import Evaluator
from specpreflight.engines.sglang.harvest.source_tree import Module, SourceTree

_CONVERTERS = {"json.loads": "json", "int": "int", "float": "float", "str": "str", "bool": "bool"}
_WITHOUT_VALUE = frozenset(
    {"store_true", "store_false", "store_const", "boolean_optional", "version"}
)
_IMPLIED_DEFAULTS = {"store_true": False, "store_false": True}


def read_flags(tree: SourceTree) -> dict[str, Flag]:
    """Return every option of the server's parser, by canonical name, in the parser's order."""
    return _FlagReader(tree).read()


class _FlagReader:
    def __init__(self, tree: SourceTree) -> None:
        self.tree = tree
        self.evaluator = Evaluator(tree)
        self.flags: dict[str, Flag] = {}

    def read(self) -> dict[str, Flag]:
        module = self.tree.at("srt/server_args.py")
        function = module.function("ServerArgs", "add_cli_args") if module else None
        if module is None or function is None:
            return {}
        local: dict[str, Any] = {}
        for statement in ast.walk(function):
            match statement:
                case ast.Assign(targets=[ast.Name(id=name)], value=value):
                    local.setdefault(name, value)
        for call in _calls(function.body):
            match call.func:
                case ast.Attribute(attr="add_argument"):
                    self._add_call(call, module, local)
                case ast.Name(id="add_cli_args_from_dataclass"):
                    self._add_annotations(module)
        return self.flags

    def _add_call(self, call: ast.Call, module: Module, local: Mapping[str, Any]) -> None:
        names = [self.evaluator.evaluate(argument, module, local) for argument in call.args]
        written = {word.arg: word.value for word in call.keywords if word.arg}
        option = Keywords([name for name in names if isinstance(name, str)], written)
        self._add(option, module, local)

    def _add_annotations(self, module: Module) -> None:
        """Register the annotated fields, in the order of the constructor (0.5.20 and later)."""
        found = [
            (option, owner)
            for owner, class_ in self._field_classes(module)
            for statement in class_.body
            if isinstance(statement, ast.AnnAssign)
            and (option := annotated_option(statement, owner, self.evaluator)) is not None
        ]
        order = self.tree.at("srt/arg_groups/field_order.py")
        fields: Any = UNKNOWN
        if order is not None:
            fields = self.evaluator.evaluate(ast.Name("POSITIONAL_FIELD_ORDER"), order)
        if fields is not UNKNOWN:
            positions = {field: position for position, field in enumerate(fields)}
            found.sort(key=lambda pair: positions.get(pair[0].known["dest"], len(positions)))
        for option, owner in found:
            self._add(option, owner, {})

    def _field_classes(self, module: Module) -> Iterator[tuple[Module, ast.ClassDef]]:
        """Yield the classes whose annotations are options."""
        for other in self.tree.modules_in("srt/arg_groups/fields"):
            for definition in other.definitions.values():
                if isinstance(definition, ast.ClassDef):
                    yield other, definition
        own = module.class_("ServerArgs")
        if own is not None:
            yield module, own

    def _add(self, option: Keywords, module: Module, local: Mapping[str, Any]) -> None:
        """Register an option as argparse would, from the keywords of its `add_argument` call."""

        def value(keyword: str, default: Any = None) -> Any:
            if keyword in option.known:
                return option.known[keyword]
            if keyword not in option.written:
                return default
            return self.evaluator.evaluate(option.written[keyword], module, local)

        if not option.names:
            return
        name = next((name for name in option.names if name.startswith("--")), option.names[0])
        action = option.known.get("action") or _action(option.written.get("action"))
        signature = self._signature(action, module)
        nargs = value("nargs", signature.get("nargs"))
        default = value("default", signature.get("default", _IMPLIED_DEFAULTS.get(action)))
        if default is UNKNOWN:
            default = self._declared(option.written.get("default"), module)
        message, fatal = self._deprecation(action, option, module, local)
        takes_none = action in _WITHOUT_VALUE or nargs == 0
        converter = option.known.get("type") or _converter(option.written.get("type"))
        self.flags[name] = Flag(
            name=name,
            aliases=tuple(other for other in option.names if other != name),
            dest=value("dest") or name.lstrip("-").replace("-", "_"),
            type="bool" if takes_none else converter,
            action=action,
            nargs=nargs,
            default=default,
            choices=_as_choices(value("choices")),
            required=value("required", False) is True,
            const=value("const", value("const_value", signature.get("const"))),
            deprecated=message,
            fatal=fatal,
        )

    def _declared(self, node: ast.expr | None, module: Module) -> Any:
        """Return the default behind `_declared_default("field")`, else `UNKNOWN`."""
        match node:
            case ast.Call(func=ast.Name(id="_declared_default"), args=[ast.Constant(value=name)]):
                for owner, class_ in self._field_classes(module):
                    known = self.evaluator.class_value(owner, class_.name, str(name))
                    if known is not UNKNOWN:
                        return known
        return UNKNOWN

    def _signature(self, action: str, module: Module) -> dict[str, Any]:
        """Return what an own action class gives argparse by itself: `nargs=0`, a default."""
        found = self.tree.find(module, action)
        if found is None or not isinstance(found[1], ast.ClassDef):
            return {}
        function = found[0].function(action, "__init__")
        if function is None:
            return {}
        arguments = function.args.args[len(function.args.args) - len(function.args.defaults) :]
        return {
            argument.arg: self.evaluator.evaluate(default, found[0])
            for argument, default in zip(arguments, function.args.defaults, strict=True)
        } | _passed_to_super(function)

    def _deprecation(
        self, action: str, option: Keywords, module: Module, local: Mapping[str, Any]
    ) -> tuple[str | None, bool]:
        """Return what a `Deprecated…` action tells the user, and whether it stops the launch."""
        if not action.startswith("Deprecated"):
            return None, False
        found = self.tree.find(module, action)
        call = found[0].function(action, "__call__") if found else None
        stops = call is not None and any(
            isinstance(node, ast.Attribute) and node.attr == "error" for node in ast.walk(call)
        )
        conditional = call is not None and any(isinstance(node, ast.If) for node in call.body)
        for keyword in ("error_message", "new_flag", "help"):
            if keyword in option.written:
                text = self.evaluator.evaluate(option.written[keyword], module, local)
                told = text if isinstance(text, str) else "deprecated"
                return told, stops and (keyword == "error_message" or not conditional)
        return "deprecated", stops and not conditional


def _calls(body: list[ast.stmt]) -> Iterator[ast.Call]:
    """Yield the calls that are statements of their own, in order, through conditions too."""
    for statement in body:
        match statement:
            case ast.Expr(value=ast.Call() as call):
                yield call
            case ast.If(body=inner, orelse=other):
                yield from _calls(inner)
                yield from _calls(other)
            case ast.For(body=inner) | ast.With(body=inner):
                yield from _calls(inner)


def _action(node: ast.expr | None) -> str:
    match node:
        case None:
            return "store"
        case ast.Constant(value=str(name)):
            return name
        case ast.Attribute(attr="BooleanOptionalAction"):
            return "boolean_optional"
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name
    return "unknown"


def _converter(node: ast.expr | None) -> str:
    if node is None:
        return "str"
    text = ast.unparse(node)
    return _CONVERTERS.get(text, "callable" if isinstance(node, ast.Lambda) else text)


def _as_choices(known: Any) -> tuple[Any, ...] | Unknown | None:
    match known:
        case None:
            return None
        case list() | tuple():
            return tuple(known)
        case set() | frozenset():
            return tuple(sorted(known, key=str))
    return UNKNOWN


def _passed_to_super(function: ast.FunctionDef) -> dict[str, Any]:
    """Return the constants that a constructor passes on."""
    for node in ast.walk(function):
        match node:
            case ast.Call(func=ast.Attribute(attr="__init__"), keywords=keywords):
                return {
                    word.arg: word.value.value
                    for word in keywords
                    if word.arg and isinstance(word.value, ast.Constant)
                }
    return {}
