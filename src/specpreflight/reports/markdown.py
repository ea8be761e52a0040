"""Markdown, for an issue, a pull request comment or a job summary."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence

from specpreflight.models.finding import Finding, Severity, Value
from specpreflight.models.report import Report

_MARK = {Severity.ERROR: "❌", Severity.WARNING: "⚠️", Severity.NOTE: "ℹ️"}


def render_markdown(reports: Sequence[Report]) -> str:
    """Return the verdicts as headings, errors and warnings in full, notes folded."""
    return "\n".join(line for report in reports for line in _report(report)) + "\n"


def _report(report: Report) -> Iterator[str]:
    summary = report.summary
    yield f"### {_prose(report.verdict.summary)}"
    yield ""
    target, draft = _cell(report.inputs.target), _cell(report.inputs.draft)
    yield (
        f"`{report.engine.name} {report.engine.version}` · target `{target}` · draft `{draft}` · "
        f"{summary.errors} errors, {summary.warnings} warnings, {summary.notes} notes"
    )
    yield ""
    notes = []
    for finding in report.findings:
        if finding.severity is Severity.NOTE:
            ignored = (
                "" if finding.ignored is None else f" (ignored: {_prose(str(finding.ignored))})"
            )
            notes.append(f"- `{finding.rule}`: {_prose(finding.message)}{ignored}")
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
    mark = _MARK[finding.severity or Severity.NOTE]
    yield f"{mark} **{finding.rule}**: {_prose(finding.message)}"
    yield ""
    if finding.values:
        yield "| | value | where |"
        yield "|---|---|---|"
        for value in finding.values:
            shown = json.dumps(value.value)
            yield f"| `{_cell(value.label)}` | `{_cell(shown)}` | {_where(value)} |"
        yield ""
    if finding.detail:
        yield _prose(finding.detail)
        yield ""
    if finding.engine_message:
        yield "> " + _prose(finding.engine_message).replace("\n", "\n> ")
        yield ""
    yield from (
        f"{at}. {_prose(remedy.title)}" for at, remedy in enumerate(finding.remedies, start=1)
    )
    yield ""


def _where(value: Value) -> str:
    origin = value.origin
    if origin.path is not None:
        return f"`{_cell(origin.path)}" + (f":{origin.line}`" if origin.line else "`")
    return f"`{_cell(origin.name)}`" if origin.name else origin.kind


#: What means something in Markdown or HTML, or calls somebody.
_MEANINGFUL = re.compile(r"([\\<>&@\[\]*#|])")


def _prose(text: str) -> str:
    """Return text in which only pairs of backticks mean something, on one line for each of its."""
    parts = text.split("`")
    if len(parts) % 2 == 0:
        return _MEANINGFUL.sub(r"\\\1", text.replace("`", "'"))
    parts[::2] = [_MEANINGFUL.sub(r"\\\1", part) for part in parts[::2]]
    return "`".join(parts)


def _cell(text: str | None) -> str:
    """Return text for a code span in one cell of a table."""
    if text is None:
        return "-"
    return text.translate({ord("|"): "\\|", ord("`"): "'", ord("\n"): " ", ord("\r"): " "})
