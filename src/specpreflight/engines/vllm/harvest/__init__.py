"""What a tree of vLLM says about itself, read with `ast` only: nothing is ever imported.

`read_engine(root)` gives the facts of one tree by topic, in the form in which `data/` keeps them.
The same code reads released wheels (`tools/harvest_vllm.py`) and a user's own checkout.
"""

from __future__ import annotations

import ast
from pathlib import Path
from typing import Any

from specpreflight.engines.sglang.harvest.source_tree import SourceTree
from specpreflight.engines.vllm.harvest.constants import read_constants
from specpreflight.engines.vllm.harvest.fields import read_fields
from specpreflight.engines.vllm.harvest.flags import read_flags
from specpreflight.engines.vllm.harvest.models import (
    read_architectures,
    read_removed_architectures,
)
from specpreflight.engines.vllm.harvest.override_program import read_override

#: The topics, one data file each.
TOPICS = ("flags", "speculative_keys", "architectures", "removed", "configs", "constants")


def read_engine(root: Path) -> dict[str, Any]:
    """Return the facts of the package folder `root` (`…/vllm`) by topic, and `override`.

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
        "architectures": read_architectures(tree),
        "removed": read_removed_architectures(tree),
        "configs": _config_registry(tree),
        "constants": read_constants(tree),
        "override": read_override(tree, module),
    }


def _config_registry(tree: SourceTree) -> dict[str, str]:
    """Return `_CONFIG_REGISTRY`: model types that vLLM reads with a config class of its own."""
    module = tree.at("transformers_utils/config.py")
    registry = None if module is None else module.definitions.get("_CONFIG_REGISTRY")
    found: dict[str, str] = {}
    if isinstance(registry, ast.Call):
        for keyword in registry.keywords:
            if keyword.arg is not None:
                found[keyword.arg] = _class_name(keyword.value)
            elif isinstance(keyword.value, ast.Dict):
                found |= _pairs(keyword.value)
    elif isinstance(registry, ast.Dict):
        found = _pairs(registry)
    return found


def _pairs(table: ast.Dict) -> dict[str, str]:
    return {
        str(key.value): _class_name(value)
        for key, value in zip(table.keys, table.values, strict=True)
        if isinstance(key, ast.Constant)
    }


def _class_name(value: ast.expr) -> str:
    return str(value.value) if isinstance(value, ast.Constant) else ast.unparse(value)
