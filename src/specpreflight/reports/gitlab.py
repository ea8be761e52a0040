"""GitLab Code Quality: the JSON list that merge requests show.

The form is Code Climate's (its "Issues", SPEC.md), of which GitLab's documentation requires
`description`, `check_name`, `fingerprint`, `severity` and `location`. What GitLab itself validates
(`app/validators/json_schemas/codeclimate.json`) asks for no more than that; no registry has it.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Sequence
from typing import Any

from specpreflight.models.finding import Finding, Severity
from specpreflight.models.report import Report
from specpreflight.reports.places import main_place

#: GitLab's five words; a note is `info`.
_SEVERITIES = {Severity.ERROR: "critical", Severity.WARNING: "minor", Severity.NOTE: "info"}


def render_gitlab(reports: Sequence[Report]) -> str:
    """Return the findings that have a place in a file as a Code Quality report."""
    return json.dumps(list(_issues(reports)), indent=2) + "\n"


def _issues(reports: Sequence[Report]) -> Iterator[dict[str, Any]]:
    for report in reports:
        for finding in report.findings:
            place = main_place(finding, report)
            if place is not None and place.path is not None:
                path, line = place.path, place.line or 1
                yield {
                    "type": "issue",
                    "categories": ["Compatibility"],
                    "description": _description(finding, report),
                    "check_name": finding.rule,
                    "fingerprint": _fingerprint(finding, report, path),
                    "severity": _SEVERITIES[finding.severity or Severity.NOTE],
                    "location": {"path": path, "lines": {"begin": line, "end": line}},
                }


def _description(finding: Finding, report: Report) -> str:
    text = f"{report.engine.name} {report.engine.version}: {finding.message}"
    return text if finding.ignored is None else f"{text} (ignored: {finding.ignored})"


def _fingerprint(finding: Finding, report: Report, path: str) -> str:
    """Return what no other issue of the list has: GitLab shows one of those that share it."""
    inputs = report.inputs
    launch = (inputs.target, inputs.draft, inputs.launch_file, report.engine.version)
    text = "\n".join((finding.fingerprint, path, *(part or "" for part in launch)))
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:32]
