"""GitLab Code Quality: the JSON list that merge requests show."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any

from specpreflight.models.finding import Finding, Severity
from specpreflight.models.report import Report

#: GitLab's five words; a note is `info`.
_SEVERITIES = {Severity.ERROR: "critical", Severity.WARNING: "minor", Severity.NOTE: "info"}


def render_gitlab(reports: Sequence[Report]) -> str:
    """Return the findings that have a place in a file as a Code Quality report."""
    return json.dumps(list(_issues(reports)), indent=2) + "\n"


def _issues(reports: Sequence[Report]) -> Iterator[dict[str, Any]]:
    for report in reports:
        for finding in report.findings:
            place = _place(finding, report)
            if place is not None:
                path, line = place
                yield {
                    "description": f"{report.engine.name} {report.engine.version}: "
                    f"{finding.message}",
                    "check_name": finding.rule,
                    "fingerprint": f"{finding.fingerprint}-{report.engine.version}",
                    "severity": _SEVERITIES[finding.severity or Severity.NOTE],
                    "location": {"path": path, "lines": {"begin": line}},
                }


def _place(finding: Finding, report: Report) -> tuple[str, int] | None:
    """Return the first file of the values, else the draft or target that was checked."""
    for value in finding.values:
        if value.origin.path is not None:
            return value.origin.path, value.origin.line or 1
    given = report.inputs.draft or report.inputs.target
    return None if given is None else (given, 1)
