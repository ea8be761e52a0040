"""The config side of a transformers release: its model types and the classes behind them."""

from __future__ import annotations

import ast
from typing import Any, NamedTuple

from specpreflight.engines.sglang.facts import UNKNOWN
from specpreflight.engines.sglang.harvest.config_classes import ConfigReader, OwnConfigClass
from specpreflight.engines.sglang.harvest.evaluate import Evaluator
from specpreflight.engines.sglang.harvest.source_tree import Module, SourceTree

_BASES = frozenset({"PretrainedConfig", "PreTrainedConfig"})
#: Fields that only a config of a language model, or of one that holds one, has.
_SPEAKS = frozenset(
    {"vocab_size", "text_config", "llm_config", "language_config", "thinker_config"}
)
#: What validation compares with.
_CONSTANTS = (
    "ALLOWED_LAYER_TYPES",
    "ALLOWED_ATTN_LAYER_TYPES",
    "ALLOWED_MLP_LAYER_TYPES",
    "_LEGACY_LAYER_TYPE_REMAP",
)
#: The tables of `modeling_auto.py` whose models generate text.
_GENERATING = (
    "MODEL_FOR_CAUSAL_LM_MAPPING_NAMES",
    "MODEL_FOR_VISION_2_SEQ_MAPPING_NAMES",
    "MODEL_FOR_IMAGE_TEXT_TO_TEXT_MAPPING_NAMES",
    "MODEL_FOR_MULTIMODAL_LM_MAPPING_NAMES",
)


class TransformersFacts(NamedTuple):
    """The config side of one transformers release.

    `model_types` maps a `model_type` to the name of its config class; `constants` holds the
    tables that validation compares with (`ALLOWED_LAYER_TYPES`, …).
    """

    model_types: dict[str, str]
    classes: dict[str, OwnConfigClass]
    constants: dict[str, Any]


def read_transformers(tree: SourceTree) -> TransformersFacts:
    """Return the config classes of a `transformers` package that a language model may use."""
    reader, evaluator = ConfigReader(tree), Evaluator(tree)
    auto = tree.at("models/auto/configuration_auto.py")
    model_types = _mapping(tree, auto, "CONFIG_MAPPING_NAMES") if auto else {}
    base = tree.at("configuration_utils.py")
    classes = reader.classes_of(base) if base else {}
    homes: dict[str, str] = {}
    for path in sorted(tree.root.glob("models/*/configuration_*.py")):
        module = tree.at(path.relative_to(tree.root).as_posix())
        if module is not None and module is not auto:
            for name, found in reader.classes_of(module).items():
                classes.setdefault(name, found)
                homes.setdefault(name, path.parent.name)
    constants: dict[str, Any] = {
        name: known
        for name in _CONSTANTS
        if base is not None
        and name in base.definitions
        and (known := evaluator.evaluate(ast.Name(name), base)) is not UNKNOWN
    }
    kept = _of_language(classes, homes, _spoken(tree, model_types))
    return TransformersFacts(dict(sorted(model_types.items())), kept, constants)


def _mapping(tree: SourceTree, module: Module, name: str) -> dict[str, str]:
    """Return a top-level table of pairs, with the `.update(...)` calls that follow it."""
    evaluator = Evaluator(tree)
    known = evaluator.evaluate(ast.Name(name), module)
    if known is UNKNOWN:
        imported = tree.at("models/auto/auto_mappings.py")
        known = evaluator.evaluate(ast.Name(name), imported) if imported else {}
    found = dict(known)
    for statement in module.tree.body:
        match statement:
            case ast.Expr(
                value=ast.Call(
                    func=ast.Attribute(value=ast.Name(id=owner), attr="update"), args=[given]
                )
            ) if owner == name:
                found.update(evaluator.evaluate(given, module))
            case ast.Assign(targets=[ast.Name(id=owner)], value=ast.Call(keywords=keywords)) if (
                owner == name
            ):
                for keyword in keywords:
                    if keyword.arg is None and isinstance(keyword.value, ast.Dict):
                        found.update(evaluator.evaluate(keyword.value, module))
    return {str(key): str(value) for key, value in found.items()}


def _spoken(tree: SourceTree, model_types: dict[str, str]) -> frozenset[str]:
    """Return the config classes of the model types that generate text."""
    module = tree.at("models/auto/modeling_auto.py")
    found: set[str] = set()
    for name in _GENERATING:
        if module is not None and name in module.definitions:
            found |= _mapping(tree, module, name).keys()
    return frozenset(model_types[known] for known in found if known in model_types)


def _of_language(
    classes: dict[str, OwnConfigClass], homes: dict[str, str], spoken: frozenset[str]
) -> dict[str, OwnConfigClass]:
    """Keep the classes of models that generate text, their text sub-configs, and all bases.

    `homes` gives the folder of each class: what stands beside a kept class and has a vocabulary
    is a sub-config of it.
    """
    folders = {homes[name] for name in spoken if name in homes}
    kept = {
        name
        for name, found in classes.items()
        if name in _BASES
        or name in spoken
        or (homes.get(name) in folders and _SPEAKS & found.fields.keys())
    }
    pending = list(kept)
    while pending:
        for base in classes[pending.pop()].bases:
            if base in classes and base not in kept:
                kept.add(base)
                pending.append(base)
    return {name: classes[name] for name in sorted(kept)}
