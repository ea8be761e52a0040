"""What a tree of vLLM says about itself, read with `ast` only: nothing is ever imported.

`read_engine(root)` gives the facts of one tree by topic, in the form in which `data/` keeps them.
The same code reads released wheels (`tools/harvest_vllm.py`) and a user's own checkout.
"""

from __future__ import annotations

import ast
from pathlib import Path
from typing import Any

from specpreflight.engines.sglang.harvest.source_tree import Module, SourceTree
from specpreflight.engines.vllm.harvest.constants import read_constants
from specpreflight.engines.vllm.harvest.fields import read_fields
from specpreflight.engines.vllm.harvest.flags import read_flags
from specpreflight.engines.vllm.harvest.json_keys import read_json_keys
from specpreflight.engines.vllm.harvest.models import (
    read_architectures,
    read_removed_architectures,
)
from specpreflight.engines.vllm.harvest.quantization import read_quantization_classes

#: The topics, one data file each.
TOPICS = (
    "flags",
    "speculative_keys",
    "json_keys",
    "architectures",
    "removed",
    "configs",
    "constants",
    "quantization",
)


def read_engine(root: Path) -> dict[str, Any]:
    """Return the facts of the package folder `root` (`…/vllm`) by topic.

    Raises:
        FileNotFoundError: `root` holds no `SpeculativeConfig`.
    """
    tree = SourceTree(root)
    module = tree.first_at("config/speculative.py", "config/__init__.py", "config.py")
    if module is None:
        raise FileNotFoundError(f"{root} is no vLLM package: it has no config module")
    return {
        "flags": read_flags(tree),
        "speculative_keys": read_fields(tree, module, "SpeculativeConfig"),
        "json_keys": read_json_keys(tree),
        "architectures": read_architectures(tree),
        "removed": read_removed_architectures(tree),
        "configs": _config_registry(tree),
        "constants": read_constants(tree),
        "quantization": read_quantization_classes(tree),
    }


def _config_registry(tree: SourceTree) -> dict[str, str]:
    """Return `_CONFIG_REGISTRY`: model type → dotted name of the class that vLLM reads it with."""
    module = tree.at("transformers_utils/config.py")
    registry = None if module is None else module.definitions.get("_CONFIG_REGISTRY")
    if module is None:
        return {}
    pairs: list[tuple[str, ast.expr]] = []
    if isinstance(registry, ast.Call):
        for keyword in registry.keywords:
            if keyword.arg is not None:
                pairs.append((keyword.arg, keyword.value))
            elif isinstance(keyword.value, ast.Dict):
                pairs += _pairs(keyword.value)
    elif isinstance(registry, ast.Dict):
        pairs = _pairs(registry)
    return {key: _dotted_class(tree, module, value) for key, value in pairs}


def _pairs(table: ast.Dict) -> list[tuple[str, ast.expr]]:
    return [
        (str(key.value), value)
        for key, value in zip(table.keys, table.values, strict=True)
        if isinstance(key, ast.Constant)
    ]


def _dotted_class(tree: SourceTree, module: Module, value: ast.expr) -> str:
    """Return where a class of the registry is defined, by name, import or `_CLASS_TO_MODULE`."""
    name = str(value.value) if isinstance(value, ast.Constant) else ast.unparse(value)
    package = tree.at("transformers_utils/configs/__init__.py")
    table = None if package is None else package.definitions.get("_CLASS_TO_MODULE")
    if isinstance(table, ast.Dict) and name in (modules := dict(_pairs(table))):
        return f"{ast.literal_eval(modules[name])}.{name}"
    for home in (module, package):
        found = None if home is None else tree.find(home, name)
        if found is not None:
            return f"{found[0].name}.{name}"
    return f"transformers.{name}"
