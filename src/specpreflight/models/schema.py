"""The JSON Schema of the report, derived from the types; the only user of pydantic here.

A check builds its report from plain dataclasses and never imports this module.
"""

from __future__ import annotations

from dataclasses import fields
from typing import Any

from pydantic import TypeAdapter

from specpreflight.models.finding import Finding
from specpreflight.models.report import Report


def read_report(text: str) -> Report:
    """Return the report that a JSON text states, without what a report in JSON leaves out.

    Raises:
        pydantic.ValidationError: it is none.
    """
    return TypeAdapter(Report).validate_json(text)


def report_schema() -> dict[str, Any]:
    """Return the JSON Schema (draft 2020-12) of `check --format json`."""
    schema = TypeAdapter(Report).json_schema()
    for type_, definition in ((Report, schema), (Finding, schema["$defs"]["Finding"])):
        for field in fields(type_):
            if field.metadata.get("internal"):
                definition["properties"].pop(field.name)
    for definition in (schema, *schema["$defs"].values()):
        if "properties" in definition:
            definition["required"] = list(definition["properties"])
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **schema}
