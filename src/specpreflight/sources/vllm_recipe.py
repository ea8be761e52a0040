"""vLLM's recipes (`models/*/*.yaml` of vllm-project/recipes): a model, its flags, its features.

The command that a recipe stands for is `vllm serve MODEL`, the flags of every launch, those of the
default variant, and those of each feature. Features that have to be asked for are left out, save
speculation, which is what this is about; what the guide shows in prose is not read.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from specpreflight.models.command import variable
from specpreflight.sources.entry_points import Entry
from specpreflight.sources.processes import Process, Tracer
from specpreflight.sources.yaml_text import YamlList, YamlMap

_SPECULATION = "spec_decoding"


def is_vllm_recipe(document: Any) -> bool:
    """Say whether a YAML document is such a recipe."""
    model = document.get("model") if isinstance(document, YamlMap) else None
    return (
        isinstance(model, YamlMap)
        and isinstance(model.get("model_id"), str)
        and ("features" in document or "base_args" in model)
    )


def read_vllm_recipe(document: YamlMap, tracer: Tracer, given: Mapping[str, str]) -> None:
    """Note the launch that a recipe stands for."""
    model = document["model"]
    variant = _child(_child(document, "variants"), "default")
    features = _child(document, "features")
    asked_for = set(document.get("opt_in_features") or ()) - {_SPECULATION}
    words = [model["model_id"], *_texts(model.get("base_args")), *_texts(variant.get("extra_args"))]
    for name in features:
        if name not in asked_for and name != _SPECULATION:
            words += _texts(_child(features, name).get("args"))
    words += _texts(_child(features, _SPECULATION).get("args"))
    environment = {}
    for section in (model.get("base_env"), variant.get("extra_env")):
        if isinstance(section, YamlMap):
            for key in section:
                place = section.lines[key]
                environment[key] = variable(key, section.text(key) or "", tracer.path, place)
    line = document.lines.get("model")
    tracer.found(Entry("vllm", "vllm serve", tuple(words)), Process((), environment, line=line))


def _child(node: YamlMap, key: str) -> YamlMap:
    found = node.get(key)
    return found if isinstance(found, YamlMap) else YamlMap()


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, YamlList):
        yield from value.texts
