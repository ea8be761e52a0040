"""Which ignores and which entries of a baseline have nothing to do any more."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal, NamedTuple

from specpreflight.models.baseline import Entry, Key
from specpreflight.models.paths import is_deleted
from specpreflight.models.policy import Ignore, Policy
from specpreflight.models.report import Report


class Idle(NamedTuple):
    """An ignore, or an entry of a baseline, that has nothing to do any more.

    Attributes:
        kind: why: an ignore is past its date, matched no finding of its launches, or was for none;
            or a finding of the baseline is gone.
        by: what says so: an option, a file and line, or the baseline.
        rule: whose findings it is for.
        message: a sentence without its subject's place and a final full stop.
    """

    kind: Literal["expired", "unmatched", "unasked", "gone"]
    by: str
    rule: str
    message: str


class IdleWatch:
    """Looks at one report after the other, and keeps no more than it needs of each."""

    def __init__(self, policy: Policy) -> None:
        self.policy = policy
        self._used: set[str] = set()
        self._asked: set[str] = set()
        self._seen: set[Key] = set()
        self._checked: set[tuple[str, str, str]] = set()

    def see(self, report: Report) -> None:
        """Notice what a report made use of."""
        inputs = report.inputs
        self._used.update(one.ignored.by for one in report.findings if one.ignored is not None)
        self._asked.update(one.by for one in self.policy.ignores if one.is_for(inputs))
        if self.policy.baseline is not None:
            self._seen.update(self.policy.baseline.keys(report))
            self._checked.add((report.engine.name, *self.policy.baseline.pair(inputs)))

    def idle(self) -> Iterator[Idle]:
        """Yield what is idle whichever launches were checked."""
        for ignore in self.policy.expired:
            said = f"the ignore of `{ignore.rule}` ended on {ignore.until}"
            yield Idle("expired", ignore.by, ignore.rule, said)
        for ignore in self.idle_ignores():
            said = f"the ignore of `{ignore.rule}` matches no finding"
            yield Idle("unmatched", ignore.by, ignore.rule, said)
        name = "" if self.policy.baseline is None else self.policy.baseline.name
        for key, entry in self.vanished().items():
            said = f"`{entry.rule}` of {key.draft or key.target} is gone"
            yield Idle("gone", name, entry.rule, said)

    def idle_in_tree(self) -> Iterator[Idle]:
        """Yield what is idle where all launches of a tree were checked."""
        yield from self.idle()
        for ignore in self.unasked_ignores():
            said = f"the ignore of `{ignore.rule}` is for no launch that was found"
            yield Idle("unasked", ignore.by, ignore.rule, said)

    def idle_ignores(self) -> Iterator[Ignore]:
        """Yield the ignores that were for one of the launches, and matched no finding."""
        for ignore in self.policy.ignores:
            if ignore.by in self._asked - self._used:
                yield ignore

    def unasked_ignores(self) -> Iterator[Ignore]:
        """Yield the ignores that were for none of the launches."""
        for ignore in self.policy.ignores:
            if ignore.by not in self._asked:
                yield ignore

    def vanished(self) -> dict[Key, Entry]:
        """Return the baseline's entries whose findings are gone, or their checkpoints.

        Those of launches that were not checked are left alone.
        """
        baseline = self.policy.baseline
        if baseline is None:
            return {}
        return {
            key: entry
            for key, entry in baseline.entries.items()
            if key not in self._seen
            and (
                (entry.engine, key.target, key.draft) in self._checked
                or any(is_deleted(baseline.root, path) for path in key[1:] if path)
            )
        }
