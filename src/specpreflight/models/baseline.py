"""A baseline: the findings that a project lives with for now, so that only new ones fail."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from specpreflight.models.finding import Finding, Severity
from specpreflight.models.frozen import dataclass
from specpreflight.models.paths import checkpoint_from, path_from
from specpreflight.models.report import Inputs, Report


class Key(NamedTuple):
    """What makes a finding the same one tomorrow.

    The fingerprint holds the rule, the checkpoints' roles, the JSON pointers and the engine's name,
    but no line and no value. One file holds the findings of many checkpoints, so their paths (as
    seen from the baseline's folder) are part of it too: a fault that is known of one draft is news
    in another. `launch` is the launch file of a finding about flags or variables, which stands in
    no checkpoint; else it is empty.
    """

    fingerprint: str
    target: str
    draft: str
    launch: str = ""


class Entry(NamedTuple):
    """A finding of the baseline: what a reader wants to know of it, and how bad it was."""

    rule: str
    engine: str
    severity: Severity


@dataclass(frozen=True, slots=True)
class Baseline:
    """The known findings.

    Attributes:
        name: the file, as reports show it.
        root: the folder that paths in it are relative to.
        entries: what is known.
    """

    name: str
    root: str
    entries: Mapping[Key, Entry]

    def covers(self, finding: Finding, inputs: Inputs) -> bool:
        """Return whether a finding is known, and has not become worse since."""
        entry = self.entries.get(self.key(finding, inputs))
        if entry is None or finding.severity is None:
            return False
        worst_first = list(Severity)
        return worst_first.index(finding.severity) >= worst_first.index(entry.severity)

    def key(self, finding: Finding, inputs: Inputs) -> Key:
        """Return the key of a finding in the launch with these inputs."""
        is_in_file = any(value.origin.kind == "file" for value in finding.values)
        launch = None if is_in_file else inputs.launch_file
        launch_path = "" if launch is None else path_from(self.root, launch)
        return Key(finding.fingerprint, *self.pair(inputs), launch_path)

    def pair(self, inputs: Inputs) -> tuple[str, str]:
        """Return the two checkpoints as paths of this file."""
        return checkpoint_from(self.root, inputs.target), checkpoint_from(self.root, inputs.draft)

    def keys(self, report: Report) -> dict[Key, Entry]:
        """Return every finding of a report as it would stand here; of equal ones the worst."""
        entries: dict[Key, Entry] = {}
        for finding in report.findings:  # the worst come first
            entry = Entry(finding.rule, report.engine.name, finding.severity or Severity.NOTE)
            entries.setdefault(self.key(finding, report.inputs), entry)
        return entries
