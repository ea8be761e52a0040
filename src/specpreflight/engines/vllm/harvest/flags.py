"""The command-line flags of a vLLM tree: `EngineArgs.add_cli_args` and the server's own.

vLLM derives a flag's argparse settings from the config class's field of the same name
(`engine/arg_utils.py:_compute_kwargs`); this module does the same from the source text.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Any

from specpreflight.engines.sglang.harvest.source_tree import Module, SourceTree
from specpreflight.engines.vllm.harvest.fields import BOUNDS, read_fields

#: What a flag takes over from the field that it sets: pydantic checks the bounds when the config
#: is built, not when the flag is parsed.
_OF_THE_FIELD = ("default", *BOUNDS)


def read_flags(tree: SourceTree) -> dict[str, dict[str, Any]]:
    """Return the flags by canonical name, each with its argparse settings.

    `default` is missing where it is no constant; `gt`, `ge`, `lt` and `le` are its bounds.
    """
    flags: dict[str, dict[str, Any]] = {}
    module = tree.at("engine/arg_utils.py")
    if module is None:
        return flags
    for class_name in ("EngineArgs", "AsyncEngineArgs"):
        function = module.function(class_name, "add_cli_args")
        if function is not None:
            flags |= dict(_calls(tree, module, function))
    server = tree.first_at("entrypoints/common/cli_args.py", "entrypoints/openai/cli_args.py")
    if server is not None:
        flags |= {
            "--" + name.replace("_", "-"): _flag(["--" + name.replace("_", "-")], name, field, {})
            for name, field in read_fields(tree, server, "FrontendArgs").items()
        }
    return flags


def _integer_types(module: Module) -> dict[str, str]:
    """Return the fields whose text may be `1k` or `2M`, as `_compute_kwargs` lists them."""
    types: dict[str, str] = {}
    for node in ast.walk(module.tree):
        match node:
            case ast.Assign(
                targets=[ast.Name(id="human_readable_ints" | "human_readable_int_args")],
                value=ast.Set(elts=parts),
            ):
                types |= {ast.literal_eval(part): "human_readable_int" for part in parts}
            case ast.If(
                test=ast.Compare(left=ast.Name(id="name"), comparators=[ast.Tuple(elts=parts)]),
                body=[ast.Assign(value=ast.Name(id="human_readable_int")), *_],
            ):
                types |= {ast.literal_eval(part): "human_readable_int" for part in parts}
    name = "human_readable_int_or_auto"
    if name in module.definitions or module.imported(name) is not None:
        types["max_model_len"] = "human_readable_int_or_auto"
    return types


def _calls(
    tree: SourceTree, module: Module, function: ast.FunctionDef
) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the flag of every `add_argument` call, resolved over the `get_kwargs` variables."""
    sources: dict[str, dict[str, dict[str, Any]]] = {}
    integers = _integer_types(module)
    for statement in ast.walk(function):
        match statement:
            case ast.Assign(
                targets=[ast.Name(id=variable)],
                value=ast.Call(func=ast.Name(id="get_kwargs"), args=[ast.Name(id=config)]),
            ):
                sources[variable] = read_fields(tree, module, config)
    for call in ast.walk(function):
        if not (isinstance(call, ast.Call) and _called(call) == "add_argument"):
            continue
        names = [str(item.value) for item in call.args if isinstance(item, ast.Constant)]
        if not names:
            continue
        flag = _from_call(names, call, sources, integers)
        yield names[0], flag


def _called(call: ast.Call) -> str:
    return call.func.attr if isinstance(call.func, ast.Attribute) else ""


def _from_call(
    names: list[Any],
    call: ast.Call,
    sources: dict[str, dict[str, dict[str, Any]]],
    integers: dict[str, str],
) -> dict[str, Any]:
    written: dict[str, Any] = {}
    for keyword in call.keywords:
        match keyword:
            case ast.keyword(arg=None, value=value):
                reference = _field_reference(value)
                if reference is not None:
                    variable, field = reference
                    source = sources.get(variable, {}).get(field, {"types": ["str"]})
                    checked = {key: source[key] for key in _OF_THE_FIELD if key in source}
                    written = _flag(names, field, source, integers) | checked | written
            case ast.keyword(arg="action", value=value):
                written["action"] = _action(value)
            case ast.keyword(arg="type", value=value):
                written["type"] = ast.unparse(value)
            case ast.keyword(arg="nargs" | "dest" as key, value=ast.Constant(value=value)):
                written[key] = value
    return {"names": names, "dest": names[0].lstrip("-").replace("-", "_")} | written


def _field_reference(value: ast.expr) -> tuple[str, str] | None:
    """Return `("model_kwargs", "seed")` for `model_kwargs["seed"]`, alone or spread in a dict."""
    match value:
        case ast.Subscript(value=ast.Name(id=variable), slice=ast.Constant(value=str() as field)):
            return variable, field
        case ast.Dict(keys=keys, values=values):
            spread = (part for key, part in zip(keys, values, strict=True) if key is None)
            return next((found for part in spread if (found := _field_reference(part))), None)
    return None


def _action(value: ast.expr) -> str:
    if isinstance(value, ast.Constant):
        return str(value.value)
    name = ast.unparse(value).rpartition(".")[2]
    return "boolean_optional" if name == "BooleanOptionalAction" else name


def _flag(
    names: list[Any], field: str, source: dict[str, Any], integers: dict[str, str]
) -> dict[str, Any]:
    """Return the argparse settings of a field, in the order of `_compute_kwargs`' tests."""
    flag: dict[str, Any] = {"names": names, "dest": names[0].lstrip("-").replace("-", "_")}
    types = [item for item in _checked(source["types"]) if item != "none"]
    plain = {item if isinstance(item, str) else next(iter(item)) for item in types}
    literals = [item["literal"] for item in types if isinstance(item, dict) and "literal" in item]
    if field == "speculative_config":
        return flag | {"type": "json"}
    if plain == {"bool", "str"}:
        return flag | {"type": "str", "nargs": "?"}
    if "bool" in plain:
        return flag | {"action": "boolean_optional"}
    if literals:
        choices = sorted(literals[0], key=str)
        kind = type(choices[0]).__name__
        return flag | ({"type": kind} if "str" in plain else {"type": kind, "choices": choices})
    if plain & {"tuple", "list", "set"}:
        return flag | {"type": "str", "nargs": "+"}
    if "int" in plain:
        return flag | {"type": integers.get(field, "int")}
    if "float" in plain:
        return flag | {"type": "float"}
    if "dict" in plain:
        return flag | {"type": "json_or_str" if plain - {"dict"} else "json"}
    if any(item.get("class", "").endswith("Config") for item in types if isinstance(item, dict)):
        return flag | {"type": "json"}
    return flag | {"type": "str"}


def _checked(types: list[Any]) -> list[Any]:
    """Return the alternatives with `SkipValidation[…]` opened: argparse looks inside it."""
    opened: list[Any] = []
    for item in types:
        opened += item["unchecked"] if isinstance(item, dict) and "unchecked" in item else [item]
    return opened
