"""How findings count in a project: severities of its own, ignores with reasons, a baseline."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, NamedTuple

from specpreflight.models.baseline import Baseline
from specpreflight.models.finding import Finding, Ignored, Severity
from specpreflight.models.paths import checkpoint_from, matches_glob, path_from

if TYPE_CHECKING:
    from datetime import date


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
        paths: globs of files that a finding shows; of the checkpoints where it shows none.
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

    def covers(self, finding: Finding, target: str | None, draft: str | None) -> bool:
        """Return whether a finding of the launch of these checkpoints is to be ignored."""
        if finding.rule != self.rule or not self.is_for(target, draft):
            return False
        shown = [value.origin.path for value in finding.values if value.origin.path is not None]
        return self._includes(shown or [one for one in (target, draft) if one is not None])

    def is_for(self, target: str | None, draft: str | None) -> bool:
        """Return whether it is for launches of these checkpoints at all."""
        one, other = checkpoint_from(self.root, target), checkpoint_from(self.root, draft)
        return not self.pairs or any(
            matches_glob(one, pair.target) and matches_glob(other, pair.draft)
            for pair in self.pairs
        )

    def _includes(self, paths: Iterable[str]) -> bool:
        return not self.paths or any(
            matches_glob(path_from(self.root, path), glob) for path in paths for glob in self.paths
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

    def judge(self, finding: Finding, target: str | None, draft: str | None) -> Finding:
        """Return the finding with its severity here; an ignored one is a note that says why."""
        severity = self.severities.get(finding.rule, finding.severity)
        finding = replace(finding, severity=severity)
        ignored = self._why_ignored(finding, target, draft)
        if ignored is None:
            return finding
        return replace(finding, severity=Severity.NOTE, ignored=ignored)

    def _why_ignored(
        self, finding: Finding, target: str | None, draft: str | None
    ) -> Ignored | None:
        for ignore in self.ignores:
            if ignore.covers(finding, target, draft):
                return Ignored(ignore.reason, ignore.by)
        if self.baseline is not None and self.baseline.covers(finding, target, draft):
            return Ignored("known since the baseline was made", self.baseline.name)
        return None
