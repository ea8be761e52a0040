"""The JSON report: the contract that other programs read (`docs/report.schema.json`)."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import fields, is_dataclass
from enum import Enum
from math import isfinite
from typing import Any

from specpreflight.models.beside import NOTHING, Beside
from specpreflight.models.report import FORMAT_VERSION, Report, Summary

#: `Report`'s keys in the order of the contract.
_ORDER = (
    "format_version", "engine", "verdict", "findings", "skipped", "resolved", "inputs", "summary",
    "since",
)  # fmt: skip


def render_json(report: Report) -> str:
    """Return one report as JSON text with a final newline."""
    return json.dumps(report_data(report), indent=2, ensure_ascii=False) + "\n"


def render_json_of(reports: Sequence[Report], beside: Beside = NOTHING) -> str:
    """Return one report, or several as one document; only that has room for what is idle."""
    return render_json(reports[0]) if len(reports) == 1 else render_many(reports, beside)


def render_json_lines(reports: Sequence[Report]) -> str:
    """Return one line of JSON a report, for tools that stream."""
    return "".join(json.dumps(report_data(report), ensure_ascii=False) + "\n" for report in reports)


def render_many(reports: Sequence[Report], beside: Beside = NOTHING) -> str:
    """Return several launches or engines of one call as one JSON text."""
    total = sum((report.summary for report in reports), Summary())
    data = {
        "format_version": FORMAT_VERSION,
        "reports": [report_data(report) for report in reports],
        "summary": plain_data(total),
        "idle": [one._asdict() for one in beside.idle],
    }
    return json.dumps(data, indent=2, ensure_ascii=False) + "\n"


def report_data(report: Report) -> dict[str, Any]:
    """Return the report as JSON data, keys in the order of the contract."""
    data = plain_data(report)
    return {key: data[key] for key in _ORDER if key in data}


def plain_data(value: Any) -> Any:
    """Return dataclasses, enums and sets as JSON data, without the fields that are internal."""
    if isinstance(value, Enum):
        return value.value
    if is_dataclass(value):
        return {
            field.name: plain_data(getattr(value, field.name))
            for field in fields(value)
            if not field.metadata.get("internal")
            and not (field.metadata.get("optional") and getattr(value, field.name) is None)
        }
    if isinstance(value, dict):
        return {str(key): plain_data(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain_data(item) for item in value]
    if isinstance(value, float) and not isfinite(value):
        return str(value)  # NaN and Infinity are no JSON, though configs may hold them
    if isinstance(value, (frozenset, set)):
        return sorted(plain_data(item) for item in value)
    return value
