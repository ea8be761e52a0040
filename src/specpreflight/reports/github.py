"""GitHub Actions: annotations as workflow commands; the job summary is the Markdown report."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from specpreflight.models.beside import NOTHING, Beside
from specpreflight.models.finding import Finding, Severity
from specpreflight.models.report import Report
from specpreflight.reports.beside import sections_of
from specpreflight.reports.places import main_place
from specpreflight.reports.printable import printable_lines

_COMMANDS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.NOTE: "notice"}


def render_github(reports: Sequence[Report], beside: Beside = NOTHING) -> str:
    """Return one workflow command a finding; the runner puts it on the line it names.

    A job shows only so many, so the worst come first, and ignored ones share a single command, as
    does each kind of what stands beside the reports and fails nothing.
    """
    return printable_lines("".join((*_failures(beside), *_commands(reports), *_others(beside))))


def _failures(beside: Beside) -> Iterator[str]:
    for section in sections_of(beside):
        if section.is_failure:
            for entry in section.entries:
                file = f",file={_property(entry.place)}" if entry.place else ""
                title = _property(section.heading)
                yield f"::error title={title}{file}::{_data(entry.message)}\n"


def _others(beside: Beside) -> Iterator[str]:
    for section in sections_of(beside):
        if not section.is_failure:
            text = f"{section.heading}: {len(section.entries)}, listed in the job's summary"
            yield f"::notice title=specpreflight::{_data(text)}\n"


def _commands(reports: Sequence[Report]) -> Iterator[str]:
    for severity in Severity:
        for report in reports:
            for finding in report.findings:
                if finding.severity is severity and finding.ignored is None:
                    yield _annotation(report, finding)
    ignored = sum(report.summary.ignored for report in reports)
    if ignored:
        text = f"{ignored} ignored, with reasons in the job's summary"
        yield f"::notice title=specpreflight::{text}\n"


def _annotation(report: Report, finding: Finding) -> str:
    command = _COMMANDS[finding.severity or Severity.NOTE]
    properties = {"title": f"{finding.rule} ({report.engine.name} {report.engine.version})"}
    place = main_place(finding, report)
    if place is not None and place.path is not None:
        properties["file"] = place.path
        if place.line is not None:
            properties |= {"line": str(place.line), "col": str(place.column)}
    listed = ",".join(f"{name}={_property(text)}" for name, text in properties.items())
    remedies = [f"To do: {remedy.title}" for remedy in finding.remedies[:1]]
    text = "\n".join([finding.message, *remedies])
    return f"::{command} {listed}::{_data(text)}\n"


def _data(text: str) -> str:
    """Escape a command's message, as @actions/core does (`escapeData`)."""
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    """Escape a command's property, as @actions/core does (`escapeProperty`)."""
    return _data(text).replace(":", "%3A").replace(",", "%2C")
