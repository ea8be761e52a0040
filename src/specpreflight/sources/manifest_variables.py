"""Variables of Kubernetes documents in which no engine is recognised: ConfigMaps, custom images."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from specpreflight.models.finding import Origin
from specpreflight.models.launch import Variable


def read_manifest_variables(text: str, given: str) -> dict[str, Variable]:
    """Return the data of ConfigMaps, and what every container's `env:` sets.

    Raises:
        InputError: the text is no YAML.
    """
    from specpreflight.sources.yaml_text import read_yaml

    found: dict[str, Variable] = {}
    for document in read_yaml(text, given):
        for name, value, line in _entries(document):
            found[name] = Variable(name, value, Origin("file", path=given, line=line))
    return found


def _entries(node: Any) -> Iterator[tuple[str, str | None, int | None]]:
    if isinstance(node, list):
        for item in node:
            yield from _entries(item)
    if not isinstance(node, dict):
        return
    data = node.get("data")
    if node.get("kind") == "ConfigMap" and isinstance(data, dict):
        for key, value in data.items():
            yield str(key), str(value), _line(data, key)
    for key, value in node.items():
        if key == "env" and isinstance(value, list):
            yield from filter(None, map(_entry, value))
        elif key != "data":
            yield from _entries(value)


def _entry(node: Any) -> tuple[str, str | None, int | None] | None:
    """Return an item of `env:`; what `valueFrom` names is not known from here."""
    if not isinstance(node, dict) or "name" not in node:
        return None
    value = node.get("value", None if "valueFrom" in node else "")
    text = None if value is None else str(value).replace("$$(", "$(")
    return str(node["name"]), text, _line(node, "name")


def _line(node: Any, key: str) -> int | None:
    line: int | None = getattr(node, "lines", {}).get(key)
    return line
