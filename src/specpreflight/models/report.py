"""Report: the verdict on one launch, every finding, and what was read to get there."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import TYPE_CHECKING, Any

from specpreflight.models.finding import (
    INTERNAL,
    OPTIONAL,
    Finding,
    Outcome,
    Severity,
    Skipped,
    Stage,
)
from specpreflight.models.frozen import dataclass
from specpreflight.models.resolved import ResolvedValue

if TYPE_CHECKING:
    from specpreflight.models.change import Since

FORMAT_VERSION = "1"


@dataclass(frozen=True, slots=True)
class EngineUsed:
    """The engine and release that the verdict is about, and how they were determined."""

    name: str
    version: str
    determined_by: str


@dataclass(frozen=True, slots=True)
class Verdict:
    """What the launch will do: the first stop, else the worst finding; `summary` says it."""

    outcome: Outcome
    stage: Stage | None
    summary: str


@dataclass(frozen=True, slots=True)
class Inputs:
    """What was checked, as the user gave it; tokens and keys are redacted.

    A scan adds `launch_file`, where the launch stands in a file of the tree, and `paired_by`, what
    says that the draft is for the target.
    """

    target: str | None
    draft: str | None
    flags: Mapping[str, Any]
    environment: Mapping[str, str | None]
    hardware: Mapping[str, Any]
    launch_file: str | None = None
    paired_by: str | None = None


@dataclass(frozen=True, slots=True)
class Summary:
    """Counts of findings; `ignored` ones count as notes only, `fixable` have a safe edit."""

    errors: int = 0
    warnings: int = 0
    notes: int = 0
    ignored: int = 0
    skipped: int = 0
    fixable: int = 0

    def __add__(self, other: Summary) -> Summary:
        """Return the counts of both."""
        return Summary(
            self.errors + other.errors,
            self.warnings + other.warnings,
            self.notes + other.notes,
            self.ignored + other.ignored,
            self.skipped + other.skipped,
            self.fixable + other.fixable,
        )


@dataclass(frozen=True, slots=True)
class Report:
    """One launch, one engine.

    `since` is what changed since a recorded launch, where one was named (`--against`). `excerpts`
    holds the source lines that a report shows, by `(path, line)`, and `internal_errors` the rules
    that failed; neither of these two is part of the JSON report.
    """

    engine: EngineUsed
    verdict: Verdict
    findings: tuple[Finding, ...]
    skipped: tuple[Skipped, ...]
    resolved: Mapping[str, ResolvedValue]
    inputs: Inputs
    summary: Summary
    format_version: str = FORMAT_VERSION
    since: Since | None = field(default=None, metadata=OPTIONAL)
    excerpts: Mapping[tuple[str, int], str] = field(default_factory=dict, metadata=INTERNAL)
    internal_errors: tuple[str, ...] = field(default=(), metadata=INTERNAL)

    def fails(self, severity: Severity | None) -> bool:
        """Return whether a finding reaches `severity` (`None` is `--fail-on never`)."""
        if severity is None:
            return False
        reached = _SEVERITIES[: _SEVERITIES.index(severity) + 1]
        return any(finding.severity in reached for finding in self.findings)


_SEVERITIES = (Severity.ERROR, Severity.WARNING, Severity.NOTE)
