"""The text of a scan: a line a finding, so that thousands of launches can be read; then counts."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from specpreflight.models.finding import Finding, Severity
from specpreflight.models.idle import Idle
from specpreflight.models.report import Report, Summary
from specpreflight.reports.beside import IDLE, tell_idle
from specpreflight.reports.text import Line, Piece

#: Drafts without a target that are listed by name where nobody asked for all.
_LISTED = 20


@dataclass
class Tally:
    """What a scan has counted so far.

    `failed` are launches without a report, `broken` rules that failed, `unpaired` drafts without a
    target, and why; `idle` is known when all launches were checked.
    """

    launches: int = 0
    failing: int = 0
    summary: Summary = field(default_factory=Summary)
    failed: list[str] = field(default_factory=list)
    broken: dict[str, None] = field(default_factory=dict)
    unpaired: list[tuple[str, str]] = field(default_factory=list)
    idle: list[Idle] = field(default_factory=list)

    def add(self, report: Report) -> None:
        """Count a report's findings."""
        self.launches += 1
        self.failing += report.summary.errors > 0
        self.summary += report.summary
        self.broken.update(dict.fromkeys(report.internal_errors))


def lay_out_launch(report: Report, *, verbose: bool = False) -> Iterator[Line]:
    """Yield a launch's lines: what it is, then its findings; none where nothing was found."""
    shown = [one for one in report.findings if verbose or one.severity is not Severity.NOTE]
    if not shown and not verbose:
        return
    inputs = report.inputs
    named = " for ".join(part for part in (inputs.draft, inputs.target) if part)
    start = f"{inputs.launch_file}: " if inputs.launch_file else ""
    engine = f"  {report.engine.name} {report.engine.version}"
    by = f", by {inputs.paired_by}" if verbose and inputs.paired_by else ""
    yield (Piece(start + (named or "a launch"), "strong"), Piece(engine + by, "dim"))
    for finding in shown:
        yield _line_of(finding)


def _line_of(finding: Finding) -> Line:
    severity = finding.severity or Severity.NOTE
    place = next((one.origin for one in finding.values if one.origin.path is not None), None)
    where = "  "
    if place is not None:
        where += f"{place.path}:{place.line}:{place.column}: " if place.line else f"{place.path}: "
    sure = "" if finding.confidence.value == "proven" else f" ({finding.confidence.value})"
    return (
        Piece(where, "place"),
        Piece(f"{severity.value}[{finding.rule}]", severity.value),
        Piece(f" {finding.message}{sure}"),
    )


def lay_out_totals(tally: Tally, *, verbose: bool = False) -> Iterator[Line]:
    """Yield the last lines: drafts without a target, what is ignored in vain, and the counts."""
    if tally.unpaired:
        yield (Piece(f"{_count(len(tally.unpaired), 'draft')} without a target:", "strong"),)
    listed = tally.unpaired if verbose else tally.unpaired[:_LISTED]
    for path, reason in listed:
        yield (Piece(f"  {path}: ", "place"), Piece(reason))
    if len(listed) < len(tally.unpaired):
        yield (Piece(f"  and {len(tally.unpaired) - len(listed)} more (-v)", "dim"),)
    if tally.idle:
        yield (Piece(f"{IDLE}:", "strong"),)
        for line in tell_idle(tally.idle):
            yield (Piece(f"  {line}"),)
    summary = tally.summary
    counts = [
        _count(tally.launches, "launch", "es"),
        f"{tally.failing} with errors",
        _count(summary.errors, "error"),
        _count(summary.warnings, "warning"),
    ]
    if tally.failed:
        counts.append(f"{len(tally.failed)} not checked")
    if summary.notes:
        counts.append(_count(summary.notes, "note") + ("" if verbose else " (-v)"))
    if summary.ignored:
        counts.append(f"{summary.ignored} ignored")
    if summary.fixable:
        counts.append(f"{summary.fixable} fixable")
    yield (Piece(", ".join(counts) + ".", "strong"),)


def _count(number: int, noun: str, plural: str = "s") -> str:
    return f"{number} {noun}{'' if number == 1 else plural}"
