"""The JSON Schemas of the report and of a lock, derived from the types; here is pydantic used.

A check builds its report from plain dataclasses and never imports this module.
"""

from __future__ import annotations

from dataclasses import fields
from typing import Any

from pydantic import TypeAdapter

from specpreflight.models.finding import Finding
from specpreflight.models.lock import Lock
from specpreflight.models.report import Report


def read_report(text: str) -> Report:
    """Return the report that a JSON text states, without what a report in JSON leaves out.

    Raises:
        pydantic.ValidationError: it is none.
    """
    return TypeAdapter(Report).validate_json(text)


def report_schema() -> dict[str, Any]:
    """Return the JSON Schema (draft 2020-12) of `check --format json`."""
    return _schema_of(Report)


def lock_schema() -> dict[str, Any]:
    """Return the JSON Schema of `launch.lock.json`."""
    return _schema_of(Lock)


def _schema_of(root: type) -> dict[str, Any]:
    schema = TypeAdapter(root).json_schema()
    definitions = {root.__name__: schema, **schema["$defs"]}
    optional: set[tuple[str, str]] = set()
    for type_ in (Report, Finding):
        for field in fields(type_):
            if field.metadata.get("internal"):
                definitions[type_.__name__]["properties"].pop(field.name)
            elif field.metadata.get("optional"):
                optional.add((type_.__name__, field.name))
    for name, definition in definitions.items():
        if "properties" in definition:
            definition["required"] = [
                key for key in definition["properties"] if (name, key) not in optional
            ]
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **schema}
