"""A draft's config as the engine's config class presents it: stated values, then class defaults."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


class DraftConfig:
    """Attributes of a config: `values` from the file over `defaults` of its class.

    `get` is the engine's `getattr(config, name, default)`: a stated null is `None`.
    """

    def __init__(
        self, values: Mapping[str, Any], defaults: Mapping[str, Any], class_name: str
    ) -> None:
        self.values = values
        self.defaults = defaults
        self.class_name = class_name

    def has(self, name: str) -> bool:
        """Return whether the attribute exists (stated, even as null, or declared)."""
        return name in self.values or name in self.defaults

    def get(self, name: str, default: Any = None) -> Any:
        """Return the attribute, `default` where it does not exist."""
        if name in self.values:
            return self.values[name]
        return self.defaults.get(name, default)

    def need(self, name: str) -> Any:
        """Return the attribute, or raise `MissingAttribute` as the engine would."""
        if not self.has(name):
            raise MissingAttribute(self.class_name, name)
        return self.get(name)


class MissingAttribute(Exception):
    """The engine reads an attribute that the config does not have."""

    def __init__(self, class_name: str, name: str) -> None:
        super().__init__(f"'{class_name}' object has no attribute '{name}'")
