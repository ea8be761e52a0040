"""Two launches side by side: what differs, and what each difference does by itself.

What a change does is found by trying: the second launch is checked once more with that change taken
back. What its report then says as the first one's is what comes of the change.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import groupby
from typing import Final

from specpreflight.api import check
from specpreflight.changes.consequences import Key, compare_reports
from specpreflight.changes.differences import list_changes
from specpreflight.changes.revert import revert
from specpreflight.models.change import Change, Consequence
from specpreflight.models.comparison import Comparison
from specpreflight.models.launch import Launch
from specpreflight.models.lock import Lock
from specpreflight.models.report import Report

#: So many changes of one part are tried one by one; of more only those whose part matters at all.
_MANY: Final = 6
#: So many are tried in all; a check takes some 30 ms.
_MOST: Final = 80


def compare_launches(
    before: Lock, after: Lock, launch: Launch, *, names: tuple[str, str]
) -> Comparison:
    """Return what differs between two recorded launches, with the consequences.

    Args:
        before: the launch to compare with.
        after: the launch that is asked about.
        launch: the same as `after`, as it can be checked again.
        names: what the two are called.
    """
    changes = list(list_changes(before, after))
    # What one engine says is no consequence of a change to what the other is given.
    is_one_engine = before.report.engine.name == after.report.engine.name
    deltas = compare_reports(before.report, after.report) if is_one_engine else {}
    found = _attribute(before, after, launch, changes, deltas) if deltas else {}
    explained = [
        replace(change, consequences=in_order(deltas[key] for key in found.get(at, ())))
        for at, change in enumerate(changes)
    ]
    known = {key for keys in found.values() for key in keys}
    return Comparison(
        before=names[0],
        after=names[1],
        changes=tuple(sorted(explained, key=_weight)),
        before_verdict=before.report.verdict,
        after_verdict=after.report.verdict,
        together=in_order(consequence for key, consequence in deltas.items() if key not in known),
    )


def _attribute(
    before: Lock,
    after: Lock,
    launch: Launch,
    changes: Sequence[Change],
    deltas: Mapping[Key, Consequence],
) -> dict[int, list[Key]]:
    """Return which of the reports' differences come of which change, by its position."""
    found = _named_by_settings(before.report, after.report, changes, deltas)
    named = {key for keys in found.values() for key in keys}
    trial = _Trial(before.report, launch, [key for key in deltas if key not in named])
    paths = [value for one in changes if one.name == "path" for value in (one.before, one.after)]
    left = _MOST
    for _, group in groupby(enumerate(changes), key=lambda item: item[1].part):
        members = [
            (at, change)
            for at, change in group
            if change.part != "flags" or not (change.before in paths or change.after in paths)
        ]
        if len(members) > _MANY and not trial.undone([change for _, change in members]):
            continue
        for at, change in members[: max(left, 0)]:
            left -= 1
            found.setdefault(at, []).extend(trial.undone([change]))
    return found


def _named_by_settings(
    before: Report,
    after: Report,
    changes: Sequence[Change],
    deltas: Mapping[Key, Consequence],
) -> dict[int, list[Key]]:
    """Return the settings whose reason names the flag that changed: there is nothing to try."""
    found: dict[int, list[Key]] = {}
    for at, change in enumerate(changes):
        for name, setting in after.resolved.items():
            reasons = {setting.reason, before.resolved.get(name, setting).reason}
            if f"{change.name} given" in reasons and ("setting", name) in deltas:
                found.setdefault(at, []).append(("setting", name))
    return found


class _Trial:
    """The second launch, to be checked without one change or another.

    What it does not show at hand, such as weights that only its lock tells of, can't be tried.
    """

    def __init__(self, before: Report, launch: Launch, keys: Sequence[Key]) -> None:
        self._before = before
        self._launch = launch
        shown = compare_reports(before, check(launch))
        self._keys = [key for key in keys if key in shown]
        self._known = shown.keys()

    def undone(self, changes: Sequence[Change]) -> list[Key]:
        """Return the differences that are not there without these changes."""
        without = self._launch
        for change in changes:
            without = revert(without, change) or without
        if without is self._launch:
            return []
        remaining = compare_reports(self._before, check(without))
        # A rule that now finds something elsewhere has not been satisfied.
        moved = {key[:2] for key in remaining if key not in self._known}
        return [key for key in self._keys if key not in remaining and key[:2] not in moved]


_EFFECTS: Final = ("worse", "better", "other")


def in_order(consequences: Iterable[Consequence]) -> tuple[Consequence, ...]:
    """Return consequences, worse ones first; what rules say before settings."""
    return tuple(
        sorted(consequences, key=lambda one: (_EFFECTS.index(one.effect), one.rule is None))
    )


def _weight(change: Change) -> int:
    """Return what sorts the telling changes first; the parts stay in their order among equals."""
    return min((_EFFECTS.index(one.effect) for one in change.consequences), default=len(_EFFECTS))
