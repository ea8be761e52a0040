"""The report of `env show`: a table for people, and JSON, which is also the snapshot of a node."""

from __future__ import annotations

import json
import textwrap
from collections.abc import Iterator, Mapping
from dataclasses import asdict
from typing import Any

from specpreflight.models.environment_report import (
    FORMAT_VERSION,
    EnvironmentReport,
    ShownVariable,
)
from specpreflight.models.finding import SEVERITY_OF_OUTCOME, Finding, Origin, Severity
from specpreflight.models.reach import Reach
from specpreflight.reports.printable import printable


def render_environment_json(report: EnvironmentReport) -> str:
    """Return the report as JSON text with a final newline."""
    reading = report.reading
    data = {
        "format_version": FORMAT_VERSION,
        "node": report.node,
        "nccl": {"version": str(reading.release), "determined_by": reading.determined_by},
        "engine": report.engine,
        "variables": [_variable_data(variable) for variable in report.variables],
        "resolved": dict(reading.resolved),
        "engine_settings": [asdict(setting) for setting in reading.settings],
        "findings": [finding_data(finding) for finding in report.findings],
        "notes": list(report.notes),
    }
    return json.dumps(data, indent=2, ensure_ascii=True) + "\n"


def _variable_data(variable: ShownVariable) -> dict[str, Any]:
    data = asdict(variable)
    data["survives"] = {
        way.replace(" ", "_"): asdict(reach) for way, reach in variable.survives.items()
    }
    return data


def finding_data(finding: Finding) -> dict[str, Any]:
    """Return a finding as JSON data."""
    data = asdict(finding)
    for name in ("outcome", "stage", "confidence"):
        data[name] = None if data[name] is None else data[name].value
    data["severity"] = _severity(finding).value
    del data["order"]
    return data


def _severity(finding: Finding) -> Severity:
    return finding.severity or SEVERITY_OF_OUTCOME[finding.outcome]


def render_environment_text(
    report: EnvironmentReport, *, columns: int = 100, verbose: bool = False
) -> str:
    """Return the report as text: the table, where it survives, then what was found."""
    return "".join(f"{printable(line)}\n" for line in _lines(report, columns, verbose))


def _lines(report: EnvironmentReport, columns: int, verbose: bool) -> Iterator[str]:
    reading = report.reading
    yield f"NCCL {reading.release} ({reading.determined_by})"
    if not report.variables:
        yield "no NCCL variable is set"
    rows = [
        (variable.name, _shown(variable.value), _verdict(variable), _place(variable.origin))
        for variable in report.variables
    ]
    widths = [max((len(row[column]) for row in rows), default=0) for column in range(3)]
    for row in rows:
        cells = [cell.ljust(width) for cell, width in zip(row, widths, strict=False)]
        yield f"  {'  '.join(cells)}  {row[3]}".rstrip()
    yield from _survival(report.variables, verbose)
    yield from _written(report)
    for note in report.notes:
        yield f"note: {note}"
    yield from _findings(report, columns, verbose)


def _shown(value: str | None) -> str:
    if value is None:
        return "(unknown)"
    if not value:
        return "(empty)"
    text = value if value.isprintable() else value.encode("unicode_escape").decode()
    return text if len(text) <= 32 else f"{text[:31]}…"


def _verdict(variable: ShownVariable) -> str:
    text = variable.understood if len(variable.understood) <= 44 else variable.understood[:43] + "…"
    if variable.effect == "changed-by-engine" and variable.written_by_engine is not None:
        return f"the engine sets {variable.written_by_engine.value}"
    if variable.effect == "ignored":
        return "ignored"
    if variable.effect == "used" and text == variable.value:
        return "as written"
    return text


def _place(origin: Origin) -> str:
    if origin.path is not None:
        return origin.path if origin.line is None else f"{origin.path}:{origin.line}"
    return {"environment": "environment", "flag": origin.name or "option"}.get(
        origin.kind, origin.kind
    )


def _survival(variables: tuple[ShownVariable, ...], verbose: bool) -> Iterator[str]:
    """Say once for all variables of the same reach where they will be there again."""
    groups: dict[tuple[tuple[str, str], ...], list[ShownVariable]] = {}
    for variable in variables:
        key = tuple((way, reach.answer) for way, reach in variable.survives.items())
        groups.setdefault(key, []).append(variable)
    for group in groups.values():
        survives = group[0].survives
        if not survives:
            continue
        names = "they are" if len(groups) == 1 else ", ".join(one.name for one in group)
        yield ""
        yield f"will {names} be there again?" if len(groups) > 1 else "will they be there again?"
        yield from _ways(survives, verbose)


def _ways(survives: Mapping[str, Reach], verbose: bool) -> Iterator[str]:
    width = max(len(way) for way in survives)
    for way, reach in survives.items():
        why = reach.why if verbose or reach.answer == "depends" else ""
        yield f"  {way.ljust(width)}  {reach.answer.ljust(7)}  {why}".rstrip()


def _written(report: EnvironmentReport) -> Iterator[str]:
    if report.engine is None or not report.reading.settings:
        return
    yield ""
    yield f"{report.engine} writes"
    for setting in report.reading.settings:
        how = "always" if setting.overwrites else "if it is not set"
        yield f"  {setting.name}={setting.value}  {how}  {setting.function}"


def _findings(report: EnvironmentReport, columns: int, verbose: bool) -> Iterator[str]:
    for finding in report.findings:
        severity = _severity(finding)
        if severity is Severity.NOTE and not verbose:
            continue
        yield ""
        yield f"{severity.value}: {finding.message}  [{finding.rule}]"
        if finding.detail:
            yield from textwrap.wrap(
                finding.detail, columns, initial_indent="  ", subsequent_indent="  "
            )
        if finding.engine_message:
            yield f"  NCCL: {finding.engine_message}"
        for remedy in finding.remedies:
            yield f"  fix: {remedy.title}"
