"""What a `ModelConfig` of SGLang knows of one checkpoint, as far as a launch depends on it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from specpreflight.engines.sglang.facts import UNKNOWN


@dataclass(eq=False, repr=False)
class ConfigObject:
    """The object that transformers makes of a `config.json`: what `getattr` would find.

    The engine writes into it (`architectures[0]`, `max_position_embeddings`), so it is mutable.

    Attributes:
        class_name: the configuration class, `None` where remote code would define it.
        values: attribute → value, class defaults and the class's attribute map applied.
        pointers: attribute → JSON pointer of the value in the checkpoint's `config.json`; an
            attribute without one is a default of the class.
        aliases: the class's attribute map, other name → name.
    """

    class_name: str | None
    values: dict[str, Any]
    pointers: dict[str, str] = field(default_factory=dict)
    aliases: Mapping[str, str] = field(default_factory=dict)

    def has(self, name: str) -> bool:
        """Return what `hasattr(config, name)` would."""
        return self.aliases.get(name, name) in self.values

    def get(self, name: str, default: Any = None) -> Any:
        """Return what `getattr(config, name, default)` would; it may be `facts.UNKNOWN`."""
        return self.values.get(self.aliases.get(name, name), default)

    def stated(self, name: str, default: Any = None) -> Any:
        """Return `get`, where an attribute that only remote code could add counts as absent."""
        found = self.get(name, default)
        return default if found is UNKNOWN else found

    def set(self, name: str, value: Any) -> None:
        """Do what `setattr(config, name, value)` would."""
        self.values[self.aliases.get(name, name)] = value

    def pointer(self, name: str) -> str | None:
        """Return the place of an attribute in `config.json`, `None` for a class default."""
        return self.pointers.get(self.aliases.get(name, name))


@dataclass(eq=False, repr=False)
class ModelFacts:
    """A `ModelConfig`, as one release builds it for the target or the draft.

    Attributes:
        role: `target` or `draft`.
        path: the model path as the engine sees it.
        config: `hf_config`, the top level.
        text: `hf_text_config`; the same object as `config` where nothing is nested.
        architectures: after the rewriting for drafts.
        derived_context_length: what `get_context_length` makes of the text config.
        length_key: the key that it comes from, `None` where none is there (then it is 2048).
        context_length: `context_len`, after `--context-length` and any override.
        dtype: `float16`, `bfloat16`, `float32`, …; `None` where it cannot be known.
        quantization: the method after the checkpoint's own is taken into account.
        attention: `MLA` or `MHA`.
        pointer: where the text config stands in `config.json`, empty for the top level.
        facts: other attributes of the engine's object, by their names.
        is_multimodal: whether the multimodal pipeline is on.
        is_generation: `False` for embedding and reward models.
        is_hybrid_swa: whether the release gives the model a hybrid sliding-window KV cache.
    """

    role: str
    path: str
    config: ConfigObject
    text: ConfigObject
    architectures: tuple[str, ...] = ()
    derived_context_length: int | None = None
    length_key: str | None = None
    context_length: int | None = None
    dtype: str | None = None
    quantization: str | None = None
    attention: str | None = None
    head_dim: Any = None
    num_hidden_layers: Any = None
    num_attention_heads: Any = None
    num_key_value_heads: Any = None
    pointer: str = ""
    facts: dict[str, Any] = field(default_factory=dict)
    is_multimodal: bool | None = None
    is_generation: bool | None = None
    is_hybrid_swa: bool | None = None

    @property
    def architecture(self) -> str | None:
        """The class name that the engine keys its decisions on, `architectures[0]`."""
        return self.architectures[0] if self.architectures else None
