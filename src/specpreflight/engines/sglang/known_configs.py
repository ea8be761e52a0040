"""Config classes as one engine version sees them, with what they inherit merged in."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import Any

from specpreflight.engines.sglang.facts import ConfigClass, ConfigField
from specpreflight.engines.sglang.release_facts import (
    Source,
    nearest_transformers,
    transformers_table,
)
from specpreflight.engines.sglang.tables import from_json


class ConfigClasses:
    """Config classes: transformers' (of the release this engine pins) and the engine's own.

    Attributes:
        transformers: the transformers release whose classes these are, `None` if none is known.
        exact: that release is the pinned one, not merely the nearest known.
    """

    def __init__(self, source: Source, pinned: str | None) -> None:
        self._source = source
        self.transformers, self.exact = nearest_transformers(pinned)
        self._known: dict[tuple[str, str], ConfigClass | None] = {}

    @cached_property
    def model_types(self) -> Mapping[str, str]:
        """transformers' own table: `model_type` -> class name (`CONFIG_MAPPING_NAMES`)."""
        if self.transformers is None:
            return {}
        table = transformers_table("model_types").of(self.transformers)
        return {name: about["class"] for name, about in table.items()}

    @cached_property
    def _registry(self) -> Mapping[str, Mapping[str, Any]]:
        return self._source.table("registry")

    @cached_property
    def registry(self) -> Mapping[str, str]:
        """The engine's `_CONFIG_REGISTRY`: `model_type` -> class name.

        Whatever AutoConfig gave, the engine loads such a config again with this class.
        """
        return {
            model_type: self._first(about["registry"])
            for model_type, about in self._registry.items()
            if "registry" in about
        }

    @cached_property
    def registered(self) -> Mapping[str, str]:
        """What AutoConfig knows besides `model_types` once the engine is imported."""
        found = {}
        for model_type, about in self._registry.items():
            replaces = about.get("overrides", False)
            name = self._first(about.get("registered", about.get("registry")))
            if replaces or model_type not in self.model_types:
                found[model_type] = name
        return found

    def auto(self, model_type: str) -> ConfigClass | None:
        """Return the class that AutoConfig gives for `model_type`, `None` if it knows none."""
        if model_type in self.registered:
            return self.get(self.registered[model_type], "sglang")
        name = self.model_types.get(model_type)
        return None if name is None else self.get(name, "transformers")

    def get(self, name: str, origin: str | None = None) -> ConfigClass | None:
        """Return a class by name, with what it inherits; transformers' first if no origin is said.

        `None`: not known. Classes of models that generate no text are left out of the tables, so
        a `model_type` may be known while its class is not.
        """
        if name.startswith("transformers."):
            name, origin = name.removeprefix("transformers."), "transformers"
        for place in ("transformers", "sglang") if origin is None else (origin,):
            key = (name, place)
            if key not in self._known:
                self._known[key] = self._merge(name, place)
            found = self._known[key]
            if found is not None:
                return found
        return None

    def constant(self, name: str) -> Any:
        """Return a table that transformers validates with (`ALLOWED_LAYER_TYPES`), or `UNKNOWN`."""
        known = self._entry("@constants", "transformers").get(name, {"?": True})
        return from_json(known)

    def _first(self, names: Any) -> str:
        if isinstance(names, str):
            return names
        for name in names:
            if self.get(name, "sglang") is not None:
                return str(name)
        return str(names[-1])

    def _entry(self, name: str, origin: str) -> Mapping[str, Any]:
        if origin == "sglang":
            return self._source.entry("configs", name)
        if self.transformers is None:
            return {}
        return transformers_table("transformers").entry(name, self.transformers)

    def _merge(self, name: str, origin: str) -> ConfigClass | None:
        own = self._entry(name, origin)
        if not own:
            return None
        bases = [
            base
            for reference in own["@bases"]
            if (base := self._base(reference, name, origin)) is not None
        ]
        attributes: dict[str, Any] = {}
        fields: dict[str, ConfigField] = {}
        constraints: dict[str, str] = {}
        for base in reversed(bases):
            attributes.update(base.attributes)
            fields.update(base.fields)
            constraints.update(base.constraints)
        attributes.update(from_json(own.get("@attributes", {})))
        constraints.update(own.get("@constraints", {}))
        fields.update((key, _field(value)) for key, value in own.items() if key[0] != "@")
        validators = [*own.get("@validators", ())]
        properties = set(own.get("@properties", ()))
        assigned = set(own.get("@assigned", ()))
        lineage: list[str] = []
        for base in bases:
            lineage += [base.name, *base.bases]
            validators += base.validators
            properties |= base.properties
            assigned |= base.assigned
        return ConfigClass(
            name=name,
            origin="sglang" if origin == "sglang" else "transformers",
            bases=tuple(dict.fromkeys(lineage)),
            model_type=attributes.get("model_type"),
            fields=fields,
            attribute_map=attributes.get("attribute_map", {}),
            sub_configs=attributes.get("sub_configs", {}),
            attributes=attributes,
            strict=bool(own.get("@strict")) or any(base.strict for base in bases),
            validators=tuple(dict.fromkeys(validators)),
            constraints=constraints,
            assigned=frozenset(assigned - fields.keys()),
            properties=frozenset(properties - fields.keys()),
        )

    def _base(self, reference: str, name: str, origin: str) -> ConfigClass | None:
        if reference == name and origin == "transformers":
            return None
        if reference.startswith("transformers."):
            return self.get(reference)
        found = self.get(reference, origin) if reference != name else None
        return found or self.get(reference, "transformers")


def _field(value: Any) -> ConfigField:
    if isinstance(value, dict):
        return ConfigField(False, None, value["type"])
    default = value[0] if isinstance(value[0], list) else from_json(value[0])
    return ConfigField(True, default, value[1] if len(value) > 1 else None)
