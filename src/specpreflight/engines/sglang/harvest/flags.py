"""The option table of `ServerArgs.add_cli_args`, in each of the three styles it has had.

Up to 0.5.13 every option is an `add_argument` call. From 0.5.14 most are annotations of the
dataclass (`name: A[type, Arg(...)] = default`), from 0.5.20 of the namespace classes in
`arg_groups/fields/*.py`; `add_cli_args_from_dataclass` turns them into `add_argument` calls, and
deprecated or computed ones are still written by hand. `_of_annotation` restates that function
(`arg_groups/arg_utils.py`, 0.5.14 to 0.5.23).
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from typing import Any

from specpreflight.engines.sglang.facts import UNKNOWN, Flag, Unknown
from specpreflight.engines.sglang.harvest.evaluate import Evaluator
from specpreflight.engines.sglang.harvest.source_tree import Module, SourceTree

_CONVERTERS = {"json.loads": "json", "int": "int", "float": "float", "str": "str", "bool": "bool"}
_FLAG_ACTIONS = frozenset({"store_true", "store_false", "store_const"})


def read_flags(tree: SourceTree) -> dict[str, Flag]:
    """Return every option of the server's parser, by canonical name."""
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
                    self._of_call(call, module, local)
                case ast.Name(id="add_cli_args_from_dataclass"):
                    self._of_annotations(module)
                case ast.Attribute(value=ast.Name(id=owner), attr="add_cli_args"):
                    self._of_other_class(owner, module)
        return self.flags

    def _of_other_class(self, owner: str, module: Module) -> None:
        found = self.tree.find(module, owner)
        if found is None or not isinstance(found[1], ast.ClassDef):
            return
        function = found[0].function(found[1].name, "add_cli_args")
        for call in _calls(function.body if function else []):
            if isinstance(call.func, ast.Attribute) and call.func.attr == "add_argument":
                self._of_call(call, found[0], {})

    def _of_call(self, call: ast.Call, module: Module, local: Mapping[str, Any]) -> None:
        given = {keyword.arg: keyword.value for keyword in call.keywords if keyword.arg}
        names = [self.evaluator.evaluate(argument, module, local) for argument in call.args]
        self._add([name for name in names if isinstance(name, str)], given, module, local)

    def _add(
        self,
        names: list[str],
        given: Mapping[str, ast.expr],
        module: Module,
        local: Mapping[str, Any],
        **known: Any,
    ) -> None:
        """Register an option from the keywords of its `add_argument` call."""

        def value(keyword: str, default: Any = None) -> Any:
            if keyword in known:
                return known[keyword]
            if keyword not in given:
                return default
            return self.evaluator.evaluate(given[keyword], module, local)

        if not names:
            return
        canonical = next((name for name in names if name.startswith("--")), names[0])
        dest = value("dest") or canonical.lstrip("-").replace("-", "_")
        action = known.get("action") or self._action(given.get("action"), module)
        signature = self._signature(action, module)
        converter = known.get("type") or _converter(given.get("type"))
        nargs = value("nargs", signature.get("nargs"))
        takes_none = action in (*_FLAG_ACTIONS, "boolean_optional", "version") or nargs == 0
        default = value("default", signature.get("default", _implied_default(action)))
        if "default" in given and default is UNKNOWN:
            default = self._declared(given["default"], module)
        message, fatal = self._deprecation(action, given, module, local)
        self.flags[canonical] = Flag(
            name=canonical,
            aliases=tuple(name for name in names if name != canonical),
            dest=dest,
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

    def _declared(self, node: ast.expr, module: Module) -> Any:
        """Return the default in `_declared_default("field")`, or `UNKNOWN`."""
        match node:
            case ast.Call(func=ast.Name(id="_declared_default"), args=[ast.Constant(value=name)]):
                for owner, class_ in self._field_classes(module):
                    known = self.evaluator.class_value(owner, class_.name, str(name))
                    if known is not UNKNOWN:
                        return known
        return UNKNOWN

    def _action(self, node: ast.expr | None, module: Module) -> str:
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

    def _signature(self, action: str, module: Module) -> dict[str, Any]:
        """Return the defaults of an own action class's constructor."""
        found = self.tree.find(module, action) if action.isidentifier() else None
        if found is None or not isinstance(found[1], ast.ClassDef):
            return {}
        function = found[0].function(found[1].name, "__init__")
        if function is None:
            return {}
        arguments = function.args.args[len(function.args.args) - len(function.args.defaults) :]
        return {
            argument.arg: self.evaluator.evaluate(default, found[0])
            for argument, default in zip(arguments, function.args.defaults, strict=True)
        } | _passed_to_super(function)

    def _deprecation(
        self, action: str, given: Mapping[str, ast.expr], module: Module, local: Mapping[str, Any]
    ) -> tuple[str | None, bool]:
        if not action.startswith("Deprecated"):
            return None, False
        found = self.tree.find(module, action)
        call = (
            found[0].function(action, "__call__")
            if found and isinstance(found[1], ast.ClassDef)
            else None
        )
        raises = call is not None and _may_stop(call)
        for keyword in ("error_message", "new_flag", "help"):
            if keyword in given:
                text = self.evaluator.evaluate(given[keyword], module, local)
                return (
                    text if isinstance(text, str) else "deprecated",
                    raises and (keyword == "error_message" or not _needs_message(call)),
                )
        return "deprecated", raises and not _needs_message(call)

    def _of_annotations(self, module: Module) -> None:
        for owner, class_ in self._field_classes(module):
            for statement in class_.body:
                if isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name):
                    self._of_annotation(statement.target.id, statement, owner)

    def _field_classes(self, module: Module) -> Iterator[tuple[Module, ast.ClassDef]]:
        """Yield the classes whose annotations are options, in the parser's order."""
        for other in self.tree.modules_in("srt/arg_groups/fields"):
            for definition in other.definitions.values():
                if isinstance(definition, ast.ClassDef):
                    yield other, definition
        own = module.class_("ServerArgs")
        if own is not None:
            yield module, own

    def _of_annotation(self, field: str, node: ast.AnnAssign, module: Module) -> None:
        match node.annotation:
            case ast.Subscript(
                value=ast.Name(id="A") | ast.Attribute(attr="Annotated") | ast.Name(id="Annotated"),
                slice=ast.Tuple(elts=[declared, *metadata]),
            ):
                pass
            case _:
                return
        given: dict[str, ast.expr] = {}
        for part in metadata:
            match part:
                case ast.Call(func=ast.Name(id="Arg"), keywords=keywords):
                    given = {keyword.arg: keyword.value for keyword in keywords if keyword.arg}
                    break
                case ast.Constant(value=str()) | ast.JoinedStr() | ast.BinOp():
                    break
        else:
            return
        if self._given(given, "no_cli", module) is True:
            return
        known: dict[str, Any] = {"dest": field}
        if node.value is not None:
            known["default"] = self.evaluator.field_default(node.value, module, 0)
        name = self._given(given, "cli_name", module) or "--" + field.replace("_", "-")
        names = [name, *(self._given(given, "aliases", module) or [])]
        keywords = {"choices", "nargs", "const"} & given.keys()
        keep = {keyword: given[keyword] for keyword in keywords}
        if "action" in given:
            extra = given.get("action_kwargs")
            keep = {"action": given["action"]} | _dictionary_items(extra)
            if "default" in keep:
                known.pop("default", None)
            self._add(names, keep, module, {}, **known)
            return
        inner = _without_none(declared)
        match inner:
            case ast.Subscript(value=ast.Name(id="Literal")):
                values = self.evaluator.evaluate(inner.slice, module)
                literals = values if isinstance(values, tuple) else (values,)
                known.setdefault("choices", self._given(given, "choices", module) or literals)
                known["type"] = (
                    _converter(given.get("type_parser"))
                    if ("type_parser" in given)
                    else _scalar(type(literals[0]).__name__)
                )
                keep.pop("nargs", None)
            case ast.Subscript(value=ast.Name(id="list" | "List"), slice=element) if (
                "type_parser" not in given
            ):
                known["type"] = _scalar(ast.unparse(element))
                known["nargs"] = self._given(given, "nargs", module) or "+"
            case ast.Name(id="list" | "List") if "type_parser" not in given:
                known["type"] = "str"
            case ast.Name(id="bool"):
                keep, known["action"] = {}, "store_true"
            case _:
                known["type"] = (
                    _converter(given["type_parser"])
                    if "type_parser" in given
                    else _scalar(ast.unparse(inner))
                )
                required = self._given(given, "required", module)
                known["required"] = required is True or (required is None and node.value is None)
        self._add(names, keep, module, {}, **known)

    def _given(self, given: Mapping[str, ast.expr], keyword: str, module: Module) -> Any:
        return self.evaluator.evaluate(given[keyword], module) if keyword in given else None


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


def _converter(node: ast.expr | None) -> str:
    if node is None:
        return "str"
    text = ast.unparse(node)
    return _CONVERTERS.get(text, "callable" if isinstance(node, ast.Lambda) else text)


def _scalar(text: str) -> str:
    return text if text in ("int", "float") else "str"


def _implied_default(action: str) -> Any:
    return {"store_true": False, "store_false": True}.get(action)


def _as_choices(known: Any) -> tuple[Any, ...] | Unknown | None:
    match known:
        case None:
            return None
        case list() | tuple():
            return tuple(known)
        case set() | frozenset():
            return tuple(sorted(known, key=str))
    return UNKNOWN


def _without_none(node: ast.expr) -> ast.expr:
    """Restate `_unwrap_optional`: `Optional[X]` and `X | None` are X."""
    match node:
        case ast.Subscript(value=ast.Name(id="Optional"), slice=inner):
            return inner
        case ast.BinOp(left=left, op=ast.BitOr(), right=ast.Constant(value=None)):
            return left
        case ast.BinOp(left=ast.Constant(value=None), op=ast.BitOr(), right=right):
            return right
    return node


def _dictionary_items(node: ast.expr | None) -> dict[str, ast.expr]:
    match node:
        case ast.Dict(keys=keys, values=values):
            return {
                str(key.value): value
                for key, value in zip(keys, values, strict=True)
                if isinstance(key, ast.Constant)
            }
        case ast.Call(func=ast.Name(id="dict"), keywords=keywords):
            return {keyword.arg: keyword.value for keyword in keywords if keyword.arg}
    return {}


def _passed_to_super(function: ast.FunctionDef) -> dict[str, Any]:
    """Return the constants that a constructor passes on (`nargs=0`)."""
    for node in ast.walk(function):
        match node:
            case ast.Call(func=ast.Attribute(attr="__init__"), keywords=keywords):
                return {
                    keyword.arg: keyword.value.value
                    for keyword in keywords
                    if keyword.arg and isinstance(keyword.value, ast.Constant)
                }
    return {}


def _may_stop(function: ast.FunctionDef) -> bool:
    return any(
        isinstance(node, ast.Raise)
        or (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Attribute)
            and node.func.attr in ("error", "exit")
        )
        for node in ast.walk(function)
    )


def _needs_message(function: ast.FunctionDef | None) -> bool:
    """Whether the action stops only where it was given a message."""
    return function is not None and any(isinstance(node, ast.If) for node in function.body)
