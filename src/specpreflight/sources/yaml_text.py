"""YAML with the line of every key and the text of every scalar as it was written.

PyYAML is what the engines read their own `--config` files with, and what huggingface_hub already
brings along.
"""

from __future__ import annotations

import re
from collections.abc import Hashable
from typing import Any

from specpreflight.errors import InputError

_DIRECTIVE_LINE = re.compile(r"^[ \t]*\{\{-?.*?-?\}\}[ \t]*$", re.MULTILINE)
#: More than any manifest has; aliases of aliases grow without end.
_MOST_VALUES = 300_000
_TEMPLATE = re.compile(r"\{\{-?\s*(.*?)\s*-?\}\}")


class YamlMap(dict[str, Any]):
    """A mapping; `lines` has the 1-based line of each key, `texts` each scalar as written."""

    def __init__(self) -> None:
        super().__init__()
        self.lines: dict[str, int] = {}
        self.texts: dict[str, str] = {}

    def text(self, key: str) -> str | None:
        """Return a scalar as it was written, `None` for a null, a list or a mapping."""
        return self.texts.get(key) if self.get(key) is not None else None


class YamlList(list[Any]):
    """A sequence; `lines` and `texts` are as long as it is (an empty text for no scalar)."""

    def __init__(self) -> None:
        super().__init__()
        self.lines: list[int] = []
        self.texts: list[str] = []


def read_yaml(text: str, name: str) -> list[Any]:
    """Return the documents of a YAML text.

    Helm's `{{ … }}` is not YAML: a line of its own is dropped, one inside a value becomes the
    marker `$(…)`.

    Raises:
        InputError: it is no YAML; the line is named.
    """
    import yaml

    if "{{" in text:
        text = _TEMPLATE.sub(_marked, _DIRECTIVE_LINE.sub("", text))
    try:
        nodes = list(yaml.compose_all(text, Loader=yaml.SafeLoader))
        return [_Builder(yaml).value(node) for node in nodes if node is not None]
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark
        where = f":{mark.line + 1}" if mark else ""
        raise InputError(f"{name}{where}: not valid YAML ({error.problem})") from None
    except (yaml.YAMLError, RecursionError) as error:
        reason = str(error).splitlines()[0] if str(error) else "nested too deeply"
        raise InputError(f"{name}: not valid YAML ({reason})") from None


def _marked(template: re.Match[str]) -> str:
    return "$(" + template.group(1).replace('"', "'").replace(": ", ":") + ")"


class _Builder:
    """Builds values from PyYAML's nodes, with their places."""

    def __init__(self, yaml: Any) -> None:
        self._yaml = yaml
        self._loader = yaml.SafeLoader("")
        self._values = 0

    def value(self, node: Any) -> Any:
        self._values += 1
        if self._values > _MOST_VALUES:
            raise self._yaml.YAMLError("its aliases expand to too many values")
        if isinstance(node, self._yaml.MappingNode):
            return self._mapping(node)
        if isinstance(node, self._yaml.SequenceNode):
            found = YamlList()
            for item in node.value:
                found.append(self.value(item))
                found.lines.append(item.start_mark.line + 1)
                found.texts.append(_scalar_text(item))
            return found
        return self._scalar(node)

    def _scalar(self, node: Any) -> Any:
        """Return a scalar's value; of `2020-99-99` and `!!int x` PyYAML itself says nothing."""
        try:
            return self._loader.construct_object(node)
        except (ValueError, KeyError, AttributeError):
            kind = node.tag.rpartition(":")[2]
            problem = f"a value of type {kind} that is none"
            raise self._yaml.constructor.ConstructorError(
                None, None, problem, node.start_mark
            ) from None

    def _mapping(self, node: Any) -> YamlMap:
        self._loader.flatten_mapping(node)
        found = YamlMap()
        for key_node, value_node in node.value:
            key = self._scalar(key_node)
            key = key if isinstance(key, str) else _scalar_text(key_node)
            if not isinstance(key, Hashable):
                continue
            found[key] = self.value(value_node)
            found.lines[key] = key_node.start_mark.line + 1
            if isinstance(value_node, self._yaml.ScalarNode):
                found.texts[key] = value_node.value
        return found


def _scalar_text(node: Any) -> str:
    return node.value if isinstance(node.value, str) else ""
