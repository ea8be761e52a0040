"""What a project's configuration file may say: one table, for the reader and the JSON Schema."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

_TEXT: Final = {"type": "string", "minLength": 1}
_TEXTS: Final = {"type": "array", "items": _TEXT}
_SEVERITY: Final = {"enum": ["error", "warning", "note"]}

#: A JSON Schema of the keywords `type`, `enum`, `properties`, `required`, `additionalProperties`,
#: `items`, `minLength` and `format: date`. `docs/configuration.md` says what it all means.
CONFIGURATION: Final[Mapping[str, Any]] = {
    "type": "object",
    "additionalProperties": False,
    "properties": {
        "engine": {
            "description": "Engine and release (`sglang@0.5.9`), or several.",
            "type": ["string", "array"],
            "minLength": 1,
            "items": _TEXT,
        },
        "fail-on": {
            "description": "The least severity that exits with 1.",
            "enum": ["error", "warning", "note", "never"],
        },
        "severity": {
            "description": "Rule name to severity, in place of the one of its outcome.",
            "type": "object",
            "additionalProperties": _SEVERITY,
        },
        "ignore": {
            "description": "Rules whose findings count as notes, each with its reason.",
            "type": "array",
            "items": {
                "type": "object",
                "additionalProperties": False,
                "required": ["rule", "reason"],
                "properties": {
                    "rule": {"description": "The rule's name.", **_TEXT},
                    "reason": {"description": "Why; reports show it.", **_TEXT},
                    "until": {
                        "description": "The last day on which it holds.",
                        "type": "string",
                        "format": "date",
                    },
                    "paths": {
                        "description": "Globs of files that findings show, relative to this file.",
                        **_TEXTS,
                    },
                    "pairs": {
                        "description": "Globs of target and draft, relative to this file.",
                        "type": "array",
                        "items": {
                            "type": "object",
                            "additionalProperties": False,
                            "properties": {"target": _TEXT, "draft": _TEXT},
                        },
                    },
                },
            },
        },
        "baseline": {
            "description": "The file of known findings, relative to this file.",
            **_TEXT,
        },
        "plugins": {"description": "Packages with further rules, by entry point.", **_TEXTS},
    },
}


def configuration_schema(rule_names: Sequence[str]) -> dict[str, Any]:
    """Return the JSON Schema of `specpreflight.toml`, with the rules for editors to offer.

    Any other name is allowed by the schema, since a plugin may have a rule of that name.
    """
    schema = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "specpreflight.toml, or [tool.specpreflight] of pyproject.toml",
        **CONFIGURATION,
    }
    properties = dict(CONFIGURATION["properties"])
    properties["severity"] = {
        **properties["severity"],
        "propertyNames": {"anyOf": [{"enum": list(rule_names)}, {"type": "string"}]},
    }
    return {**schema, "properties": properties}
