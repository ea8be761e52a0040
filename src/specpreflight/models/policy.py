"""How findings count in a project: severities of its own, ignores with reasons, a baseline."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field, replace
from typing import TYPE_CHECKING, NamedTuple

from specpreflight.models.baseline import Baseline
from specpreflight.models.finding import Finding, Ignored, Severity, files_of
from specpreflight.models.frozen import dataclass
from specpreflight.models.paths import checkpoint_from, matches_glob, path_from

if TYPE_CHECKING:
    from datetime import date

    from specpreflight.models.report import Inputs


class PairGlobs(NamedTuple):
    """Which launches an ignore is for, by their checkpoints."""

    target: str = "**"
    draft: str = "**"


@dataclass(frozen=True, slots=True)
class Ignore:
    """A rule whose findings count as notes, and why.

    Attributes:
        rule: the rule's name.
        reason: for people who read the report.
        by: what says so: an option, or file and line; no two ignores of a policy share it.
        until: the last day on which it holds.
        paths: globs of files that a finding shows; where it shows none, of those of its launch.
        pairs: globs of target and draft.
        root: the folder that globs are relative to.
    """

    rule: str
    reason: str
    by: str
    until: date | None = None
    paths: tuple[str, ...] = ()
    pairs: tuple[PairGlobs, ...] = ()
    root: str = "/"

    def covers(self, finding: Finding, inputs: Inputs) -> bool:
        """Return whether a finding of the launch with these inputs is to be ignored."""
        if finding.rule != self.rule or not self.is_for(inputs):
            return False
        given = (inputs.target, inputs.draft, inputs.launch_file)
        return not self.paths or any(
            matches_glob(path_from(self.root, path), glob)
            for path in files_of(finding) or [path for path in given if path is not None]
            for glob in self.paths
        )

    def is_for(self, inputs: Inputs) -> bool:
        """Return whether it is for launches of these checkpoints at all."""
        target = checkpoint_from(self.root, inputs.target)
        draft = checkpoint_from(self.root, inputs.draft)
        return not self.pairs or any(
            matches_glob(target, pair.target) and matches_glob(draft, pair.draft)
            for pair in self.pairs
        )


@dataclass(frozen=True, slots=True)
class Policy:
    """What a project has decided about findings, read from its files and the command line.

    Attributes:
        severities: rule → severity, in place of the one of its outcome.
        ignores: the first one that covers a finding counts.
        expired: ignores that are past their date; they cover nothing any more.
        baseline: findings that were there when the gate was put up.
        plugins: names of packages with further rules.
    """

    severities: Mapping[str, Severity] = field(default_factory=dict)
    ignores: tuple[Ignore, ...] = ()
    expired: tuple[Ignore, ...] = ()
    baseline: Baseline | None = None
    plugins: tuple[str, ...] = ()

    def judge(self, finding: Finding, inputs: Inputs) -> Finding:
        """Return the finding with its severity here; an ignored one is a note that says why."""
        severity = self.severities.get(finding.rule, finding.severity)
        finding = replace(finding, severity=severity)
        ignored = self._why_ignored(finding, inputs)
        if ignored is None:
            return finding
        return replace(finding, severity=Severity.NOTE, ignored=ignored)

    def _why_ignored(self, finding: Finding, inputs: Inputs) -> Ignored | None:
        for ignore in self.ignores:
            if ignore.covers(finding, inputs):
                return Ignored(ignore.reason, ignore.by)
        if self.baseline is not None and self.baseline.covers(finding, inputs):
            return Ignored("known since the baseline was made", self.baseline.name)
        return None
