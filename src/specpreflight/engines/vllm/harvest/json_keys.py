"""The keys that a flag's JSON may have, for flags that set a whole config object.

`engine/arg_utils.py:_compute_kwargs` hands the text of such a flag to
`TypeAdapter(cls).validate_json`. Whether pydantic refuses or drops a key that is no field is the
class's own setting: `ConfigDict(extra="forbid")`, given to its decorator, or from 0.16.0 on by
`config/utils.py:config` to every class.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Any, Final

from specpreflight.engines.sglang.harvest.source_tree import Module, SourceTree
from specpreflight.engines.vllm.harvest.fields import read_fields

_DECORATORS: Final = frozenset({"config", "dataclass"})
#: Restated with its values in `speculative_keys.py`.
_ELSEWHERE: Final = frozenset({"SpeculativeConfig"})


def read_json_keys(tree: SourceTree) -> dict[str, dict[str, Any]]:
    """Return, by flag, the `class` of its JSON, `extra` (`forbid` or `ignore`) and the `keys`.

    `nested` holds the same of keys whose value is an object of a class, too. Classes that look at
    their JSON themselves before pydantic does are left out.
    """
    module = tree.at("engine/arg_utils.py")
    function = None if module is None else module.function("EngineArgs", "add_cli_args")
    if module is None or function is None:
        return {}
    holders = dict(_holders(function))
    found: dict[str, dict[str, Any]] = {}
    for name, variable, field in _flags(function):
        owner = _class(tree, module, holders.get(variable, ""))
        if owner is None:
            continue
        types = read_fields(tree, owner[0], owner[1].name).get(field, {}).get("types", [])
        if (keys := _of_types(tree, owner[0], types)) is not None:
            found[name] = keys
    return found


def _class(tree: SourceTree, module: Module, name: str) -> tuple[Module, ast.ClassDef] | None:
    found = tree.find(module, name)
    if found is None or not isinstance(found[1], ast.ClassDef):
        return None
    return found[0], found[1]


def _holders(function: ast.FunctionDef) -> Iterator[tuple[str, str]]:
    """Yield variable → config class, from `vllm_kwargs = get_kwargs(VllmConfig)`."""
    for statement in ast.walk(function):
        match statement:
            case ast.Assign(
                targets=[ast.Name(id=variable)],
                value=ast.Call(func=ast.Name(id="get_kwargs"), args=[ast.Name(id=config)]),
            ):
                yield variable, config


def _flags(function: ast.FunctionDef) -> Iterator[tuple[str, str, str]]:
    """Yield name, variable and field of each flag added as `"--name", **vllm_kwargs["field"]`."""
    for call in ast.walk(function):
        match call:
            case ast.Call(
                func=ast.Attribute(attr="add_argument"),
                args=[ast.Constant(value=str() as name), *_],
                keywords=[
                    ast.keyword(
                        arg=None,
                        value=ast.Subscript(
                            value=ast.Name(id=variable), slice=ast.Constant(value=str() as field)
                        ),
                    )
                ],
            ):
                yield name, variable, field


def _of_types(tree: SourceTree, module: Module, types: list[Any]) -> dict[str, Any] | None:
    """Return what is known of the one config class among a field's alternatives."""
    names = [each["class"] for each in types if isinstance(each, dict) and "class" in each]
    if len(names) != 1 or any(each not in ("none", {"class": names[0]}) for each in types):
        return None
    home = _class(tree, module, names[0])
    if home is None or names[0] in _ELSEWHERE:
        return None
    owner, definition = home
    extra = _extra(tree, owner, definition)
    if extra is None or _reads_itself(definition):
        return None
    computed = set(_computed(definition))
    fields = {
        name: field
        for name, field in read_fields(tree, owner, definition.name).items()
        if name not in computed
    }
    nested = {
        name: known
        for name, field in fields.items()
        if (known := _of_types(tree, owner, field["types"])) is not None
    }
    found = {"class": definition.name, "extra": extra, "keys": list(fields)}
    return found | ({"nested": nested} if nested else {})


def _computed(definition: ast.ClassDef) -> Iterator[str]:
    """Yield the fields that no argument sets: pydantic takes them for unknown keys."""
    for statement in definition.body:
        match statement:
            case ast.AnnAssign(target=ast.Name(id=name), value=ast.Call(keywords=words)):
                for word in words:
                    if word.arg == "init" and ast.unparse(word.value) == "False":
                        yield name


def _extra(tree: SourceTree, module: Module, definition: ast.ClassDef) -> str | None:
    """Return what a class does with other keys, `None` where it is no config dataclass."""
    extra = None
    for decorator in definition.decorator_list:
        call = decorator if isinstance(decorator, ast.Call) else None
        name = call.func if call is not None else decorator
        if not isinstance(name, ast.Name) or name.id not in _DECORATORS:
            continue
        extra = extra or "ignore"
        if name.id == "config" and (default := tree.find(module, "config")) is not None:
            extra = _stated(default[1]) or extra
        extra = (_stated(call) if call is not None else None) or extra
    return extra


def _stated(node: ast.AST) -> str | None:
    """Return the `extra` of the `ConfigDict` in a piece of code."""
    for part in ast.walk(node):
        match part:
            case ast.Call(func=ast.Name(id="ConfigDict"), keywords=words):
                for word in words:
                    if word.arg == "extra" and isinstance(word.value, ast.Constant):
                        return str(word.value.value)
    return None


def _reads_itself(definition: ast.ClassDef) -> bool:
    """Whether the class has a say before pydantic looks at the keys."""
    return any(
        isinstance(part, ast.Call)
        and isinstance(part.func, ast.Name)
        and part.func.id == "model_validator"
        and any(
            word.arg == "mode" and ast.unparse(word.value) in ("'before'", "'wrap'")
            for word in part.keywords
        )
        for statement in definition.body
        for decorator in getattr(statement, "decorator_list", ())
        for part in ast.walk(decorator)
    )
