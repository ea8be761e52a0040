"""Parts of a Hugging Face config: the language model's part, the architectures."""

from __future__ import annotations

from specpreflight.engines.sglang.facts import UNKNOWN
from specpreflight.engines.sglang.model_facts import ConfigObject

__all__ = ["UNKNOWN", "ConfigObject", "architectures_of", "text_of"]

#: Where `PretrainedConfig.get_text_config` looks for the language model's part.
_TEXT_PARTS = ("decoder", "generator", "text_config")


def text_of(config: ConfigObject) -> ConfigObject:
    """Return the language model's part, as `get_hf_text_config` does: itself where flat."""
    thinker = config.get("thinker_config")
    if isinstance(thinker, ConfigObject):
        return text_of(thinker)
    for name in _TEXT_PARTS:
        part = config.get(name)
        if isinstance(part, ConfigObject):
            return part
    return config


def architectures_of(config: ConfigObject) -> list[str]:
    """Return `architectures` as a list, `[]` where there is none."""
    names = config.get("architectures")
    if isinstance(names, str):
        return [names]
    return [str(name) for name in names] if isinstance(names, list | tuple) else []
