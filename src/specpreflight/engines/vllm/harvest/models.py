"""The model registry of a vLLM tree: architectures, their classes and the interfaces they have."""

from __future__ import annotations

import ast
from typing import Any

from specpreflight.engines.sglang.harvest.source_tree import Module, SourceTree

_REGISTRY = "model_executor/models/registry.py"

#: Interfaces that the configuration stage or the runners ask a class for.
_INTERFACES = {
    "SupportsPP": "pp",
    "SupportsEagle": "eagle",
    "SupportsEagle3": "eagle3",
    "EagleModelMixin": "eagle3",
    "SupportsMultiModal": "multimodal",
    "HasInnerState": "inner_state",
    "IsHybrid": "hybrid",
    "IsAttentionFree": "attention_free",
    "MixtureOfExperts": "moe",
}


def read_architectures(tree: SourceTree) -> dict[str, dict[str, Any]]:
    """Return `{architecture: {"class", "group", "interfaces"}}` of `_VLLM_MODELS`."""
    module = tree.at(_REGISTRY)
    if module is None:
        return {}
    found: dict[str, dict[str, Any]] = {}
    for group, architecture, home, class_name in _entries(module):
        interfaces = _interfaces_of(tree, home, class_name)
        found[architecture] = {
            "class": class_name,
            "group": group,
            "interfaces": sorted(interfaces),
        }
    return found


def read_removed_architectures(tree: SourceTree) -> dict[str, str]:
    """Return `_PREVIOUSLY_SUPPORTED_MODELS`: the last release that had each architecture."""
    module = tree.at(_REGISTRY)
    removed = None if module is None else module.definitions.get("_PREVIOUSLY_SUPPORTED_MODELS")
    return ast.literal_eval(removed) if isinstance(removed, ast.Dict) else {}


def _entries(module: Module) -> list[tuple[str, str, str, str]]:
    """Return `(group, architecture, dotted module, class)` in the order of `_VLLM_MODELS`."""
    merged = module.definitions.get("_VLLM_MODELS")
    names = (
        [value.id for key, value in zip(merged.keys, merged.values, strict=True)
         if key is None and isinstance(value, ast.Name)]
        if isinstance(merged, ast.Dict)
        else []
    )  # fmt: skip
    entries = []
    for name in names:
        table = module.definitions.get(name)
        if not isinstance(table, ast.Dict):
            continue
        group = name.strip("_").removesuffix("_MODELS").lower()
        for key, value in zip(table.keys, table.values, strict=True):
            if isinstance(key, ast.Constant) and isinstance(value, ast.Tuple):
                home, class_name = (ast.literal_eval(part) for part in value.elts)
                dotted = home if home.startswith("vllm.") else f"vllm.model_executor.models.{home}"
                entries.append((group, str(key.value), dotted, class_name))
    return entries


def _interfaces_of(tree: SourceTree, dotted: str, class_name: str) -> set[str]:
    """Return a class's interfaces; `pp` only where `forward` takes `intermediate_tensors` as well.

    That is what `interfaces.py:supports_pp` asks: a draft class inherits `SupportsPP` from its
    target's class, but its own `forward` has no such parameter.
    """
    module = tree.module(dotted)
    if module is None:
        return set()
    found = _collect(tree, module, class_name, set())
    if "pp" in found and not _forward_takes(tree, module, class_name, "intermediate_tensors"):
        found.discard("pp")
    return found


def _forward_takes(tree: SourceTree, module: Module, name: str, parameter: str) -> bool | None:
    """Tell whether the first `forward` among a class and its bases takes `parameter`."""
    found = tree.find(module, name)
    if found is None:
        return None
    owner, definition = found
    if not isinstance(definition, ast.ClassDef):
        return None
    for statement in definition.body:
        if isinstance(statement, ast.FunctionDef) and statement.name == "forward":
            arguments = statement.args
            named = [item.arg for item in arguments.args + arguments.kwonlyargs]
            return parameter in named or arguments.kwarg is not None
    for base in definition.bases:
        if isinstance(base, ast.Name):
            answer = _forward_takes(tree, owner, base.id, parameter)
            if answer is not None:
                return answer
    return None


def _collect(tree: SourceTree, module: Module, name: str, seen: set[str]) -> set[str]:
    """Return the interfaces among a class's bases, followed through the whole tree."""
    if name in _INTERFACES:
        return {_INTERFACES[name]}
    found = tree.find(module, name)
    if found is None or f"{found[0].name}.{name}" in seen:
        return set()
    owner, definition = found
    seen.add(f"{owner.name}.{name}")
    if not isinstance(definition, ast.ClassDef):
        alternatives = [part.id for part in ast.walk(definition) if isinstance(part, ast.Name)]
        return set().union(*(_collect(tree, owner, part, seen) for part in alternatives), set())
    interfaces: set[str] = set()
    for base in definition.bases:
        if isinstance(base, ast.Name):
            interfaces |= _collect(tree, owner, base.id, seen)
    return interfaces
