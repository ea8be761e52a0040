"""GitHub Actions: annotations as workflow commands; the job summary is the Markdown report."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from specpreflight.models.finding import Finding, Severity
from specpreflight.models.report import Report
from specpreflight.reports.places import main_place

_COMMANDS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.NOTE: "notice"}


def render_github(reports: Sequence[Report]) -> str:
    """Return one workflow command a finding; the runner puts it on the line it names."""
    return "".join(_annotation(report, finding) for report, finding in _findings(reports))


def _findings(reports: Sequence[Report]) -> Iterator[tuple[Report, Finding]]:
    for report in reports:
        for finding in report.findings:
            yield report, finding


def _annotation(report: Report, finding: Finding) -> str:
    command = _COMMANDS[finding.severity or Severity.NOTE]
    properties = {"title": f"{finding.rule} ({report.engine.name} {report.engine.version})"}
    place = main_place(finding, report)
    if place is not None and place.path is not None:
        properties["file"] = place.path
        if place.line is not None:
            properties |= {"line": str(place.line), "col": str(place.column)}
    listed = ",".join(f"{name}={_property(text)}" for name, text in properties.items())
    lines = [finding.message, *(f"To do: {remedy.title}" for remedy in finding.remedies[:1])]
    if finding.ignored is not None:
        lines.append(f"Ignored: {finding.ignored}")
    text = "\n".join(lines)
    return f"::{command} {listed}::{_data(text)}\n"


def _data(text: str) -> str:
    """Escape a command's message, as @actions/core does (`escapeData`)."""
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    """Escape a command's property, as @actions/core does (`escapeProperty`)."""
    return _data(text).replace(":", "%3A").replace(",", "%2C")
