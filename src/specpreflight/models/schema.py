"""The JSON Schemas of the report and of a lock, derived from the types; here is pydantic used.

A check builds its report from plain dataclasses and never imports this module.
"""

from __future__ import annotations

import json
from dataclasses import fields
from typing import Any, TypeVar

from pydantic import TypeAdapter

from specpreflight.models.change import Since
from specpreflight.models.finding import Finding
from specpreflight.models.lock import Lock
from specpreflight.models.report import Report

T = TypeVar("T")


def read_report(text: str) -> Report:
    """Return the report that a JSON text states, without what a report in JSON leaves out.

    A path that is no UTF-8 stands there with lone surrogates, which pydantic's own parser refuses.

    Raises:
        ValueError: it is none.
    """
    return report_of(json.loads(text))


def report_of(data: Any) -> Report:
    """Return the report that JSON data states.

    Raises:
        pydantic.ValidationError: it is none.
    """
    return _adapter(Report).validate_python(data)


def lock_of(data: Any) -> Lock:
    """Return the recorded launch that JSON data states.

    Raises:
        pydantic.ValidationError: it is none.
    """
    return _adapter(Lock).validate_python(data)


def report_schema() -> dict[str, Any]:
    """Return the JSON Schema (draft 2020-12) of `check --format json`."""
    return _schema_of(Report)


def lock_schema() -> dict[str, Any]:
    """Return the JSON Schema of `launch.lock.json`."""
    return _schema_of(Lock)


def _adapter(type_: type[T]) -> TypeAdapter[T]:
    """Return what validates a type; to make it costs more than to read a hundred reports."""
    if type_ not in _ADAPTERS:
        adapter = TypeAdapter(type_)
        # A report names a type that a check does not import.
        adapter.rebuild(_types_namespace={"Since": Since})
        _ADAPTERS[type_] = adapter
    return _ADAPTERS[type_]


_ADAPTERS: dict[Any, TypeAdapter[Any]] = {}


def _schema_of(root: type[Any]) -> dict[str, Any]:
    schema = _adapter(root).json_schema()
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
