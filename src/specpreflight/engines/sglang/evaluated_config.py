"""A configuration object that lives in the evaluator, seen as the plain facts others work with."""

from __future__ import annotations

from typing import Any

from specpreflight.engines.sglang.facts import UNKNOWN
from specpreflight.engines.sglang.model_facts import ConfigObject
from specpreflight.engines.source.evaluator import Evaluator
from specpreflight.engines.source.values import Dtype, Instance, Opaque, Raised

#: Attributes under which a multimodal configuration keeps its language model's.
TEXT_ATTRIBUTES = ("text_config", "llm_config", "language_config", "thinker_config")


class EvaluatedConfig(ConfigObject):
    """An `Instance` of a configuration class; reading and writing go through the evaluator.

    `place` is the JSON pointer of the object in `config.json`, `written` the JSON object there.
    """

    def __init__(self, evaluator: Evaluator, instance: Instance, place: str, written: Any) -> None:
        super().__init__(instance.cls.name, instance.attributes)
        self.instance = instance
        self._evaluator = evaluator
        self._place = place
        self._written = written if isinstance(written, dict) else {}

    def has(self, name: str) -> bool:
        """Return what `hasattr(config, name)` would; an unknown answer counts as no."""
        return self._evaluator.has_attribute(self.instance, name) is True

    def get(self, name: str, default: Any = None) -> Any:
        """Return what `getattr(config, name, default)` would; it may be `UNKNOWN`."""
        try:
            found = self._evaluator.get_attribute(self.instance, name)
        except Raised:
            return default
        return self.plain(found, f"{self._place}/{name}", self._written.get(name))

    def set(self, name: str, value: Any) -> None:
        """Do what `setattr(config, name, value)` would."""
        self._evaluator.set_attribute(self.instance, name, value)

    def pointer(self, name: str) -> str | None:
        """Return the place of an attribute in `config.json`, `None` for a class default."""
        for key in (name, self._evaluator.alias(self.instance.cls, name)):
            if key in self._written:
                return f"{self._place}/{key}"
        return None

    def plain(self, value: Any, place: str = "", written: Any = None) -> Any:
        """Return an evaluated value as plain data."""
        if isinstance(value, Opaque):
            return UNKNOWN
        if isinstance(value, Dtype):
            return value.name
        if isinstance(value, Instance):
            return EvaluatedConfig(self._evaluator, value, place, written)
        return value


def text_place(config: Instance, text: Instance, root: Any) -> tuple[str, Any]:
    """Return the JSON pointer and the JSON object of the text config that the engine chose."""
    if text is config:
        return "", root
    for name in TEXT_ATTRIBUTES:
        nested = config.attributes.get(name)
        written = root.get(name) if isinstance(root, dict) else None
        if nested is text:
            return f"/{name}", written
        if isinstance(nested, Instance) and nested.attributes.get("text_config") is text:
            inner = written.get("text_config") if isinstance(written, dict) else None
            return f"/{name}/text_config", inner
    return "", root
