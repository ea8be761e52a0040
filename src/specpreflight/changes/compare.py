"""Two launches side by side: what differs, and what each difference does by itself.

What a change does is found by trying: the second launch is checked once more with that change taken
back. What its report then says as the first one's is what comes of the change.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
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

Predict = Callable[[Launch], Report]


def compare_launches(
    before: Lock,
    after: Lock,
    launch: Launch,
    *,
    names: tuple[str, str],
    predict: Predict = check,
) -> Comparison:
    """Return what differs between two recorded launches, with the consequences.

    Args:
        before: the launch to compare with.
        after: the launch that is asked about.
        launch: the same as `after`, as it can be checked again.
        names: what the two are called.
        predict: checks a launch as the reports of both were made.
    """
    changes = list(list_changes(before, after))
    deltas = compare_reports(before.report, after.report)
    found = {}
    if deltas:
        # What the launch at hand does not show, since its weights are not, can't be tried.
        shown = compare_reports(before.report, predict(launch))
        seen = {key: deltas[key] for key in deltas if key in shown}
        found = _attribute(before.report, after.report, changes, seen, launch, predict)
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
    before: Report,
    after: Report,
    changes: Sequence[Change],
    deltas: Mapping[Key, Consequence],
    launch: Launch,
    predict: Predict,
) -> dict[int, list[Key]]:
    """Return which of the reports' differences go away with which change, by its position."""
    paths = {change.before for change in changes if change.name == "path"} | {
        change.after for change in changes if change.name == "path"
    }
    found: dict[int, list[Key]] = _named_by_settings(before, after, changes, deltas)
    known = {key for keys in found.values() for key in keys}
    left = _MOST
    for _, group in groupby(enumerate(changes), key=lambda item: item[1].part):
        members = [
            (at, change)
            for at, change in group
            if not (change.part == "flags" and {change.before, change.after} & paths)
        ]
        if len(members) > _MANY and not _undone(
            before, deltas, [change for _, change in members], launch, predict
        ):
            continue
        for at, change in members[: max(left, 0)]:
            left -= 1
            undone = _undone(before, deltas, [change], launch, predict)
            if undone := [key for key in undone if key not in known]:
                found.setdefault(at, []).extend(undone)
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


def _undone(
    before: Report,
    deltas: Mapping[Key, Consequence],
    changes: Sequence[Change],
    launch: Launch,
    predict: Predict,
) -> list[Key]:
    """Return the differences that are not there without these changes."""
    without, reverted = launch, False
    for change in changes:
        tried = revert(without, change)
        if tried is not None:
            without, reverted = tried, True
    if not reverted:
        return []
    remaining = compare_reports(before, predict(without))
    # The rule that still finds something, elsewhere, has not been satisfied.
    moved = {key[:2] for key in remaining if key not in deltas}
    return [key for key in deltas if key not in remaining and key[:2] not in moved]


_EFFECTS: Final = ("worse", "better", "other")


def in_order(consequences: Iterable[Consequence]) -> tuple[Consequence, ...]:
    """Return consequences, worse ones first; what rules say before settings."""
    return tuple(
        sorted(consequences, key=lambda one: (_EFFECTS.index(one.effect), one.rule is None))
    )


def _weight(change: Change) -> int:
    """Return what sorts the telling changes first; the parts stay in their order among equals."""
    return min((_EFFECTS.index(one.effect) for one in change.consequences), default=len(_EFFECTS))
