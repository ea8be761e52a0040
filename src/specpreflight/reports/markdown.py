"""Markdown, for an issue, a pull request comment or a job summary."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Final

from specpreflight.models.beside import NOTHING, Beside
from specpreflight.models.finding import Finding, Severity, Value
from specpreflight.models.report import Report
from specpreflight.reports.beside import Section, sections_of
from specpreflight.reports.printable import printable_lines

if TYPE_CHECKING:
    from specpreflight.models.change import Since

_MARK = {Severity.ERROR: "❌", Severity.WARNING: "⚠️", Severity.NOTE: "ℹ️"}


#: Letters of a whole text: GitHub takes no comment and no issue of 65,536.
_MOST: Final = 60_000

#: Letters of them after which no further launch is written, and after which a list ends.
_MOST_OF_LAUNCHES: Final = 40_000
_MOST_OF_A_LIST: Final = 3_500


def render_markdown(reports: Sequence[Report], beside: Beside = NOTHING) -> str:
    """Return the verdicts as headings, errors and warnings in full, the rest folded.

    Of several launches only those with errors or warnings have a heading.
    """
    last = "".join(_text(_beside(section)) for section in sections_of(beside))
    if len(reports) == 1:
        return _text(_report(reports[0])) + last
    loud = [report for report in reports if report.summary.errors or report.summary.warnings]
    quiet = [report for report in reports if report not in loud]
    parts = [_text(_totals(reports))]
    room = _MOST_OF_LAUNCHES
    for number, report in enumerate(loud):
        part = _text(_report(report))
        room -= len(part)
        if room < 0:
            parts.append(f"… and {len(loud) - number} more launches with errors or warnings.\n\n")
            break
        parts.append(part)
    notes = [f"{line} ({_name(report)})" for report in quiet for line in _notes(report)]
    left = _MOST - len(last) - sum(map(len, parts))
    return "".join([*parts, _text(_folded("notes of the other launches", notes, left)), last])


def _text(lines: Iterable[str]) -> str:
    return "".join(f"{printable_lines(line)}\n" for line in lines)


def _totals(reports: Sequence[Report]) -> Iterator[str]:
    def total(name: str) -> int:
        return sum(getattr(report.summary, name) for report in reports)

    failing = sum(report.summary.errors > 0 for report in reports)
    yield (
        f"**{len(reports)} launches, {failing} with errors**: {total('errors')} errors, "
        f"{total('warnings')} warnings, {total('notes')} notes, {total('ignored')} of them ignored"
    )
    yield ""


def _beside(section: Section) -> Iterator[str]:
    """Yield what could not be checked as errors, the rest as a list that is closed at first."""
    lines = [f"- {_one_line(str(entry))}" for entry in section.entries]
    if not section.is_failure:
        yield from _folded(section.heading, lines)
        return
    yield f"{_MARK[Severity.ERROR]} **{section.heading}**"
    yield ""
    yield from _shortened(lines)
    yield ""


def _name(report: Report) -> str:
    return f"`{_cell(report.inputs.draft or report.inputs.target)}`"


def _report(report: Report) -> Iterator[str]:
    summary = report.summary
    yield f"### {_prose(report.verdict.summary)}"
    yield ""
    target, draft = _cell(report.inputs.target), _cell(report.inputs.draft)
    file = f"in `{_cell(report.inputs.launch_file)}` · " if report.inputs.launch_file else ""
    yield (
        f"`{report.engine.name} {report.engine.version}` · target `{target}` · draft `{draft}` · "
        f"{file}{summary.errors} errors, {summary.warnings} warnings, {summary.notes} notes"
    )
    yield ""
    if report.since is not None:
        yield from _since(report.since)
    for finding in report.findings:
        if finding.severity is not Severity.NOTE:
            yield from _finding(finding)
    yield from _folded("notes", list(_notes(report)))


def _since(since: Since) -> Iterator[str]:
    from specpreflight.reports.changes import heading_of, tell_consequence, tell_since

    yield f"**{_one_line(heading_of(since))}**"
    yield ""
    for told in tell_since(since):
        yield f"- {_one_line(told.text)}"
        yield from (f"  - {_one_line(tell_consequence(one))}" for one in told.consequences)
    yield ""


def _notes(report: Report) -> Iterator[str]:
    for finding in report.findings:
        if finding.severity is Severity.NOTE:
            ignored = finding.ignored
            reason = "" if ignored is None else f" (ignored: {_prose(str(ignored))})"
            yield f"- `{finding.rule}`: {_prose(finding.message)}{reason}"


def _folded(title: str, lines: Sequence[str], room: int = _MOST_OF_A_LIST) -> Iterator[str]:
    """Yield a list that is closed at first; of a long one its first `room` letters."""
    if not lines:
        return
    yield f"<details><summary>{title}: {len(lines)}</summary>"
    yield ""
    yield from _shortened(lines, room)
    yield ""
    yield "</details>"
    yield ""


def _shortened(lines: Sequence[str], room: int = _MOST_OF_A_LIST) -> Iterator[str]:
    for number, line in enumerate(lines):
        room -= len(line) + 1
        if room < 0:
            yield f"- … and {len(lines) - number} more"
            return
        yield line


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


def _one_line(text: str) -> str:
    return _prose(" ".join(text.split()))


def _cell(text: str | None) -> str:
    """Return text for a code span in one cell of a table."""
    if text is None:
        return "-"
    return text.translate({ord("|"): "\\|", ord("`"): "'", ord("\n"): " ", ord("\r"): " "})
