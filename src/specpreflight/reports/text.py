"""The report for people: the verdict first, then the findings, then what to type next.

The text is laid out here as lines of styled pieces; `render_text` joins them, and the terminal
module colours the same pieces. Nothing but spaces aligns them, so that every line can be copied.
"""

from __future__ import annotations

import json
import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from specpreflight.models.finding import (
    MISSING,
    Confidence,
    Finding,
    Outcome,
    Remedy,
    Severity,
    Value,
)
from specpreflight.models.report import Report
from specpreflight.reports.printable import printable


class Piece(NamedTuple):
    """Some text and the role it plays; the terminal gives each role a colour."""

    text: str
    style: str = ""


Line = tuple[Piece, ...]

_MARK = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.NOTE: "note"}


@dataclass(frozen=True, slots=True)
class Layout:
    """How to show a report.

    `width` is the number of columns; `verbose` shows notes, skipped rules and the resolved launch
    too; `command` is the command line that comes next where something can be fixed, in two parts.
    """

    width: int = 80
    verbose: bool = False
    command: tuple[str, str] | None = None


def render_text(report: Report, layout: Layout) -> str:
    """Return the report as plain text, within the layout's width where words allow it."""
    lines = lay_out(report, layout)
    return "".join("".join(map(plain, line)).rstrip() + "\n" for line in lines)


def plain(piece: Piece) -> str:
    """Return a piece of text without colour, fit for any terminal or file."""
    return printable(piece.text)


def lay_out(report: Report, layout: Layout) -> Iterator[Line]:
    """Yield the report's lines."""
    width = max(layout.width, 40)
    yield from _verdict(report, width)
    for finding in report.findings:
        if layout.verbose or finding.severity is not Severity.NOTE:
            yield ()
            yield from _finding(finding, report, width)
    if layout.verbose:
        yield from _notes_on_the_launch(report, width)
    if report.since is not None:
        from specpreflight.reports.changes import lay_out_since

        yield ()
        yield from lay_out_since(report.since, width)
    yield ()
    yield from _last_lines(report, width, layout)


def _verdict(report: Report, width: int) -> Iterator[Line]:
    outcome = report.verdict.outcome
    if outcome in (Outcome.STARTS, Outcome.ADJUSTS):
        style = "good"
    else:
        style = "warning" if outcome is Outcome.DEGRADES else "error"
    summary = report.verdict.summary.replace("`", "")
    for line in _wrap(summary + ".", width):
        yield (Piece(line, style),)
    if report.engine.determined_by.startswith("assumed"):
        for line in _wrap(f"({report.engine.determined_by})", width):
            yield (Piece(line, "dim"),)


def _finding(finding: Finding, report: Report, width: int) -> Iterator[Line]:
    severity = finding.severity or Severity.NOTE
    head = f"{_MARK[severity]}[{finding.rule}]"
    sure = "" if finding.confidence is Confidence.PROVEN else f" ({finding.confidence.value})"
    wrapped = _wrap(f"{head} {finding.message}{sure}", width, "  ")
    yield (Piece(head, severity.value), Piece(wrapped[0][len(head) :], "strong"))
    for line in wrapped[1:]:
        yield (Piece(line, "strong"),)
    if finding.values:
        yield from _values(finding.values, report, width)
    if finding.detail:
        yield from _paragraph("why", finding.detail, width)
    if finding.engine_message:
        yield from _paragraph("engine says", finding.engine_message, width, style="quote")
    for number, remedy in enumerate(finding.remedies, start=1):
        label = "to do" if number == 1 else ""
        yield from _paragraph(label, _remedy_words(number, remedy, len(finding.remedies)), width)
    if finding.ignored is not None:
        yield from _paragraph("ignored", str(finding.ignored), width)


def _values(values: Sequence[Value], report: Report, width: int) -> Iterator[Line]:
    """Yield each value aligned with the others, its place, and its line of JSON underlined."""
    label_width = max(len(value.label) for value in values)
    shown = [_show(value.value) for value in values]
    value_width = max(len(text) for text in shown) if max(map(len, shown)) <= 24 else 0
    for value, text in zip(values, shown, strict=True):
        left = f"  {value.label:<{label_width}}  "
        place = _place(value)
        middle = f"{text:<{value_width}}"
        if len(left) + len(middle) + 2 + len(place) <= width:
            yield (Piece(left, "dim"), Piece(middle, "value"), Piece("  " + place, "place"))
        else:
            yield (Piece(left, "dim"), Piece(middle, "value"))
            yield (Piece(" " * len(left) + place, "place"),)
        yield from _underlined(value, report, len(left), width)


def _underlined(value: Value, report: Report, indent: int, width: int) -> Iterator[Line]:
    origin = value.origin
    if origin.path is None or origin.line is None or origin.column is None:
        return
    source = report.excerpts.get((origin.path, origin.line))
    if source is None or value.value is None:
        return
    stripped = source.strip()
    start = origin.column - 1 - (len(source) - len(source.lstrip()))
    end = (origin.end_column or origin.column + 1) - origin.column + start
    if len(stripped) > width - indent or end > len(stripped):
        return
    yield (Piece(" " * indent + stripped, "source"),)
    yield (Piece(" " * (indent + start) + "^" * (end - start), "mark"),)


def _place(value: Value) -> str:
    origin = value.origin
    if origin.kind == "file" and origin.line is not None:
        return f"{origin.path}:{origin.line}:{origin.column}"
    if origin.kind == "file":
        return f"{origin.path} (no such key)" if origin.pointer else str(origin.path)
    if origin.kind == "environment":
        return f"variable {origin.name}" + (f" ({origin.path})" if origin.path else "")
    if origin.kind == "flag":
        return f"flag {origin.name}"
    return f"{origin.kind}: {origin.name}" if origin.name else origin.kind


def _remedy_words(number: int, remedy: Remedy, count: int) -> str:
    words = f"{number}. {remedy.title}" if count > 1 else remedy.title
    if remedy.kind == "edit" and remedy.edits:
        words += "  [--fix]" if remedy.applicability == "safe" else "  [--unsafe-fixes]"
    return words


def _paragraph(label: str, text: str, width: int, style: str = "") -> Iterator[Line]:
    left = f"  {label + ':' if label else '':<13}"
    for number, line in enumerate(_wrap(text, width - len(left))):
        yield (Piece(left if number == 0 else " " * len(left), "label"), Piece(line, style))


def _notes_on_the_launch(report: Report, width: int) -> Iterator[Line]:
    if report.resolved:
        yield ()
        yield (Piece("resolved launch", "strong"),)
        name_width = max(len(name) for name in report.resolved)
        for name, resolved in report.resolved.items():
            is_unknown = resolved.reason.startswith("unknown: ")
            text = resolved.reason if is_unknown else f"{_show(resolved.value)} · {resolved.reason}"
            left = f"  {name:<{name_width}}  "
            for number, line in enumerate(_wrap(text, max(width - len(left), 20))):
                yield (Piece(left if number == 0 else " " * len(left), "dim"), Piece(line))
    if report.skipped:
        yield ()
        yield (Piece("skipped", "strong"),)
        reasons: dict[str, list[str]] = {}
        for skipped in report.skipped:
            reasons.setdefault(f"{skipped.needs}: {skipped.reason}", []).append(skipped.rule)
        for reason, rules in reasons.items():
            for line in _wrap(f"{reason} ({', '.join(rules)})", width - 2, "  "):
                yield (Piece("  " + line, "dim"),)


def _last_lines(report: Report, width: int, layout: Layout) -> Iterator[Line]:
    summary = report.summary
    folded = "" if layout.verbose else " (-v)"
    counts = [_count(summary.errors, "error"), _count(summary.warnings, "warning")]
    if summary.notes:
        ignored = f", {summary.ignored} ignored" if summary.ignored else ""
        counts.append(_count(summary.notes, "note") + ignored + folded)
    if summary.skipped:
        counts.append(_count(summary.skipped, "rule") + " skipped" + folded)
    if summary.fixable:
        counts.append(f"{summary.fixable} fixable")
    for line in _wrap(", ".join(counts) + ".", width):
        yield (Piece(line, "strong"),)
    following = _next_command(report, layout)
    if following:
        yield (Piece("next: ", "label"), Piece(following, "command"))


def _next_command(report: Report, layout: Layout) -> str:
    """Return what to type next; never wrapped, so that it can be copied."""
    if layout.command is None:
        return ""
    if report.summary.fixable:
        return "".join(layout.command)
    for finding in report.findings:
        if finding.severity is Severity.ERROR:
            return f"specpreflight explain {finding.rule}"
    return ""


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"


def _show(value: Any) -> str:
    if value is None:
        return "not set"
    if value == MISSING:
        return "missing"
    if isinstance(value, str):
        return value
    return json.dumps(value, ensure_ascii=False, default=str)


def _wrap(text: str, width: int, indent: str = "") -> list[str]:
    return textwrap.wrap(
        text,
        max(width, 20),
        subsequent_indent=indent,
        break_long_words=False,
        break_on_hyphens=False,
    ) or [""]
