"""Markdown, for an issue, a pull request comment or a job summary."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence

from specpreflight.models.finding import Finding, Severity, Value
from specpreflight.models.report import Report

_MARK = {Severity.ERROR: "❌", Severity.WARNING: "⚠️", Severity.NOTE: "ℹ️"}


def render_markdown(reports: Sequence[Report]) -> str:
    """Return the verdicts as headings, errors and warnings in full, notes folded."""
    return "\n".join(line for report in reports for line in _report(report)) + "\n"


def _report(report: Report) -> Iterator[str]:
    summary = report.summary
    yield f"### {report.verdict.summary}"
    yield ""
    yield (
        f"`{report.engine.name} {report.engine.version}` · target `{report.inputs.target}` · "
        f"draft `{report.inputs.draft}` · {summary.errors} errors, {summary.warnings} warnings, "
        f"{summary.notes} notes"
    )
    yield ""
    notes = []
    for finding in report.findings:
        if finding.severity is Severity.NOTE:
            notes.append(f"- `{finding.rule}`: {finding.message}")
        else:
            yield from _finding(finding)
    if notes:
        yield f"<details><summary>notes: {len(notes)}</summary>"
        yield ""
        yield from notes
        yield ""
        yield "</details>"
        yield ""


def _finding(finding: Finding) -> Iterator[str]:
    yield f"{_MARK[finding.severity or Severity.NOTE]} **{finding.rule}**: {finding.message}"
    yield ""
    if finding.values:
        yield "| | value | where |"
        yield "|---|---|---|"
        for value in finding.values:
            yield f"| {value.label} | `{_cell(json.dumps(value.value))}` | {_where(value)} |"
        yield ""
    if finding.detail:
        yield finding.detail
        yield ""
    if finding.engine_message:
        yield "> " + finding.engine_message.replace("\n", "\n> ")
        yield ""
    yield from (f"{at}. {remedy.title}" for at, remedy in enumerate(finding.remedies, start=1))
    yield ""


def _where(value: Value) -> str:
    origin = value.origin
    if origin.path is not None:
        return f"`{_cell(origin.path)}" + (f":{origin.line}`" if origin.line else "`")
    return f"`{_cell(origin.name)}`" if origin.name else origin.kind


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("`", "'")
