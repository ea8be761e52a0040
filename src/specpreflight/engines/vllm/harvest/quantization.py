"""What each quantisation class of a vLLM tree asks of a checkpoint, before it loads anything."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Any

from specpreflight.engines.sglang.harvest.source_tree import Module, SourceTree

_PACKAGE = "vllm.model_executor.layers.quantization"


def read_quantization_classes(tree: SourceTree) -> dict[str, dict[str, Any]]:
    """Return, by method, what its class says of itself.

    `files` are the names of config files beside the weights that it looks for, `dtypes` the types
    of activations that it supports, `capability` the least compute capability (90 is 9.0), `needs`
    the lists of keys of which its config must have one, in the order in which it reads them, and
    `arguments` those without which a `class` cannot be made.
    """
    registry = tree.at("model_executor/layers/quantization/__init__.py")
    function = None if registry is None else registry.function("get_quantization_config")
    if function is None:
        return {}
    homes = dict(_imports(function))
    found = {}
    for statement in ast.walk(function):
        match statement:
            case (
                ast.Assign(targets=[ast.Name(id="method_to_config")], value=ast.Dict() as table)
                | ast.AnnAssign(target=ast.Name(id="method_to_config"), value=ast.Dict() as table)
            ):
                for key, value in zip(table.keys, table.values, strict=True):
                    if isinstance(key, ast.Constant) and isinstance(value, ast.Name):
                        facts = _facts(tree, homes.get(value.id), value.id)
                        if facts:
                            found[str(key.value)] = facts
    return found


def _imports(function: ast.FunctionDef) -> Iterator[tuple[str, str]]:
    """Yield the names that a function imports, with the modules' files."""
    for statement in ast.walk(function):
        if isinstance(statement, ast.ImportFrom) and statement.module is not None:
            module = statement.module
            dotted = f"{_PACKAGE}.{module}" if statement.level else module
            for alias in statement.names:
                yield alias.asname or alias.name, dotted


def _facts(tree: SourceTree, dotted: str | None, name: str) -> dict[str, Any]:
    if dotted is None:
        return {}
    path = dotted.removeprefix("vllm.").replace(".", "/")
    module = tree.first_at(f"{path}.py", f"{path}/__init__.py")
    if module is None:
        return {}
    facts: dict[str, Any] = {}
    files = _method(tree, module, name, "get_config_filenames")
    if files is not None:
        facts["files"] = [
            node.value
            for node in ast.walk(files)
            if isinstance(node, ast.Constant) and str(node.value).endswith(".json")
        ]
    dtypes = _method(tree, module, name, "get_supported_act_dtypes")
    if dtypes is not None:
        facts["dtypes"] = [
            node.attr
            for node in ast.walk(dtypes)
            if isinstance(node, ast.Attribute)
            and ast.unparse(node.value) == "torch"
            and node.attr != "dtype"
        ]
    lowest = _method(tree, module, name, "get_min_capability")
    match None if lowest is None else lowest.body[-1]:
        case ast.Return(value=ast.Constant(value=int() as capability)):
            facts["capability"] = capability
    made = _method(tree, module, name, "__init__")
    if made is not None and len(made.args.args) - 1 > len(made.args.defaults):
        required = made.args.args[1 : len(made.args.args) - len(made.args.defaults)]
        facts |= {"class": name, "arguments": [argument.arg for argument in required]}
    reader = _method(tree, module, name, "from_config")
    if reader is not None:
        facts["needs"] = list(_needed(reader))
    return {key: value for key, value in facts.items() if value}


def _method(tree: SourceTree, module: Module, name: str, method: str) -> ast.FunctionDef | None:
    """Return a method of a class, or of the first base that has it."""
    found = tree.find(module, name)
    if found is None or not isinstance(found[1], ast.ClassDef):
        return None
    owner, definition = found
    assert isinstance(definition, ast.ClassDef)
    for statement in definition.body:
        if isinstance(statement, ast.FunctionDef) and statement.name == method:
            return statement
    for base in definition.bases:
        if isinstance(base, ast.Name) and base.id != "QuantizationConfig":
            inherited = _method(tree, owner, base.id, method)
            if inherited is not None:
                return inherited
    return None


def _needed(reader: ast.FunctionDef) -> Iterator[list[str]]:
    """Yield the keys of the `get_from_keys` calls that always run."""
    for statement in reader.body:
        if not isinstance(statement, ast.Assign):
            continue
        match statement.value:
            case ast.Call(func=ast.Attribute(attr="get_from_keys"), args=[_, ast.List() as keys]):
                yield [str(key.value) for key in keys.elts if isinstance(key, ast.Constant)]
