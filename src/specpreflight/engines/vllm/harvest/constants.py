"""Named sets and lists of a vLLM tree that decide a speculative launch."""

from __future__ import annotations

import ast
from typing import Any

from specpreflight.engines.sglang.harvest.source_tree import Module, SourceTree
from specpreflight.engines.vllm.harvest.annotations import literal_values


def read_constants(tree: SourceTree) -> dict[str, Any]:
    """Return the constants by our own names; one that the tree does not have is left out."""
    speculative = tree.first_at("config/speculative.py", "config/__init__.py", "config.py")
    if speculative is None:
        return {}
    runner = tree.first_at("config/vllm.py", "config/__init__.py", "config.py")
    quantization = tree.at("model_executor/layers/quantization/__init__.py")
    algos = tree.at("transformers_utils/configs/speculators/algos.py")
    found: dict[str, Any] = {
        "mtp_model_types": _literal(tree, speculative, "MTPModelTypes")
        or _strings(speculative, "MTP_MODEL_TYPES"),
        "eagle_methods": _literal(tree, speculative, "EagleModelTypes"),
        "aux_hidden_states_targets": _local_list(
            speculative, "_verify_args", ("aux_hidden_states_supported", "eagle3_target_supported")
        ),
        "cache_only_rope_types": _strings(speculative, "_CACHE_ONLY_ROPE_TYPES"),
        "v2_runner_architectures": runner and _strings(
            runner, "DEFAULT_V2_MODEL_RUNNER_ARCHITECTURES"
        ),
        "quantization_methods": quantization
        and _literal(tree, quantization, "QuantizationMethods"),
        "deprecated_quantization": quantization
        and _strings(quantization, "DEPRECATED_QUANTIZATION_METHODS"),
        "attention_backends": _members(
            tree.first_at("v1/attention/backends/registry.py", "attention/backends/registry.py"),
            "AttentionBackendEnum",
        ),
        "speculators_types": algos and _registered(algos),
    }  # fmt: skip
    return {name: value for name, value in found.items() if value}


def _literal(tree: SourceTree, module: Module, name: str) -> list[Any]:
    found = tree.find(module, name)
    if found is None or not isinstance(found[1], ast.expr):
        return []
    return literal_values(tree, found[0], found[1])


def _strings(module: Module, name: str) -> list[str]:
    value = module.definitions.get(name)
    if not isinstance(value, ast.expr):
        return []
    return [
        part.value
        for part in ast.walk(value)
        if isinstance(part, ast.Constant) and isinstance(part.value, str)
    ]


def _local_list(module: Module, function: str, names: tuple[str, ...]) -> list[Any]:
    body = module.function("SpeculativeConfig", function)
    for statement in [] if body is None else body.body:
        match statement:
            case ast.Assign(targets=[ast.Name(id=name)], value=value) if name in names:
                values: list[Any] = ast.literal_eval(value)
                return values
    return []


def _members(module: Module | None, class_name: str) -> list[str]:
    definition = None if module is None else module.class_(class_name)
    if definition is None:
        return []
    return [
        target.id
        for statement in definition.body
        if isinstance(statement, ast.Assign)
        for target in statement.targets
        if isinstance(target, ast.Name)
    ]


def _registered(module: Module) -> list[str]:
    """Return the names given to `@register_speculator("…")`."""
    names = []
    for definition in module.definitions.values():
        for decorator in getattr(definition, "decorator_list", []):
            match decorator:
                case ast.Call(
                    func=ast.Name(id="register_speculator"), args=[ast.Constant(value=str() as n)]
                ):
                    names.append(n)
    return names
