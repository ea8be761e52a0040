"""The text of a scan: a line a finding, so that thousands of launches can be read; then counts."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from specpreflight.models.finding import Finding, Severity
from specpreflight.models.report import Report
from specpreflight.reports.text import Line, Piece


@dataclass
class Tally:
    """What a scan has counted so far."""

    launches: int = 0
    errors: int = 0
    warnings: int = 0
    notes: int = 0
    failing: int = 0
    unpaired: list[tuple[str, str]] = field(default_factory=list)

    def add(self, report: Report) -> None:
        """Count a report's findings."""
        self.launches += 1
        self.errors += report.summary.errors
        self.warnings += report.summary.warnings
        self.notes += report.summary.notes
        self.failing += bool(report.summary.errors)


def lay_out_launch(report: Report, *, verbose: bool = False) -> Iterator[Line]:
    """Yield a launch's lines: what it is, then its findings; none where nothing was found."""
    shown = [one for one in report.findings if verbose or one.severity is not Severity.NOTE]
    if not shown and not verbose:
        return
    parts = [part for part in (report.inputs.draft, report.inputs.target) if part]
    yield (
        Piece(" for ".join(parts), "strong"),
        Piece(f"  {report.engine.name} {report.engine.version}", "dim"),
    )
    for finding in shown:
        yield from _finding(finding)


def _finding(finding: Finding) -> Iterator[Line]:
    severity = finding.severity or Severity.NOTE
    place = next((one.origin for one in finding.values if one.origin.path is not None), None)
    where = "" if place is None else str(place.path)
    if place is not None and place.line is not None:
        where += f":{place.line}:{place.column}"
    yield (
        Piece("  " + where + (": " if where else ""), "place"),
        Piece(f"{severity.value}[{finding.rule}]", severity.value),
        Piece(" " + finding.message),
    )


def lay_out_totals(tally: Tally) -> Iterator[Line]:
    """Yield the last lines: drafts without a target, and the counts."""
    for path, reason in tally.unpaired:
        yield (Piece(f"no target for {path}: {reason}", "dim"),)
    yield (
        Piece(
            f"{tally.launches} launches, {tally.failing} with errors: {tally.errors} errors, "
            f"{tally.warnings} warnings, {tally.notes} notes",
            "strong",
        ),
    )
