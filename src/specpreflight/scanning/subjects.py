"""What is to be checked: each draft with its target, and what stands alone."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator, Sequence
from fnmatch import fnmatch
from functools import lru_cache
from typing import Final, NamedTuple

from specpreflight.models.pairing import Pairing, Targets, Unpaired
from specpreflight.scanning.survey import Survey, Surveyed
from specpreflight.sources.hub_cache import find_snapshot
from specpreflight.sources.pairs_file import StatedPair

#: Answers that are kept at hand, of each kind: how facts compare, where named targets are.
_REMEMBERED: Final = 4096


class Side(NamedTuple):
    """One checkpoint of a launch: what reports call it, and what is known of it already.

    `found` is `None` for one that no directory of the tree is: an option or a file named it.
    """

    given: str
    found: Surveyed | None = None


class Subject(NamedTuple):
    """A launch to check.

    `paired_by` says what made it a pair; `unpaired` why a draft stands alone. With neither it is
    a target that no draft here is for.
    """

    target: Side | None
    draft: Side | None
    paired_by: str | None = None
    inferred: bool = False
    unpaired: str | None = None


def subjects(
    found: Survey,
    *,
    target: str | None = None,
    pairs: Sequence[StatedPair] = (),
    launched: Collection[str] = (),
) -> Iterator[Subject]:
    """Yield every pair in the order of the tree, then the targets that no draft is for.

    Args:
        found: the tree.
        target: the target of all drafts that a pairs file does not name.
        pairs: those of a pairs file.
        launched: real paths of checkpoints that a launch file names; its launch checks them.
    """
    pairing = _Pairing(found.targets(), target)
    given = _PairsGiven(pairs)
    used = set(launched)
    real_path = lru_cache(_REMEMBERED)(os.path.realpath)
    if target is not None:
        used.add(real_path(target))
    for checkpoint in found:
        stated = given.of(checkpoint) if pairs else ()
        for pair in stated:
            used.update((real_path(pair.target), checkpoint.real))
            yield Subject(Side(pair.target), Side(checkpoint.path, checkpoint), pair.by)
        if stated or checkpoint.profile.kind == "target" or checkpoint.real in used:
            continue
        subject = pairing.of(checkpoint)
        if subject.target is not None:
            used.add(real_path(subject.target.given))
        yield subject
    for pair in given.unmatched():
        used.add(real_path(pair.target))
        yield Subject(Side(pair.target), Side(pair.draft), pair.by)
    for checkpoint in found.servable():
        if checkpoint.real not in used:
            yield Subject(Side(checkpoint.path, checkpoint), None)


class _PairsGiven:
    """The pairs of a pairs file, by draft; those with wildcards apart."""

    def __init__(self, pairs: Sequence[StatedPair]) -> None:
        self._patterns = [pair for pair in pairs if any(letter in pair.draft for letter in "*?[")]
        self._plain: dict[str, list[StatedPair]] = {}
        for pair in pairs:
            if pair not in self._patterns:
                self._plain.setdefault(os.path.realpath(pair.draft), []).append(pair)
        self._matched: set[str] = set()

    def of(self, checkpoint: Surveyed) -> list[StatedPair]:
        """Return the pairs whose draft this is."""
        plain = self._plain.get(checkpoint.real, [])
        if plain:
            self._matched.add(checkpoint.real)
        path = os.path.normpath(checkpoint.path)
        return plain + [one for one in self._patterns if fnmatch(path, one.draft)]

    def unmatched(self) -> Iterator[StatedPair]:
        """Yield the pairs whose draft lies outside the tree."""
        for real, pairs in self._plain.items():
            if real not in self._matched:
                yield from pairs


class _Pairing:
    """Finds the target of each draft that no pairs file names.

    Args:
        targets: those of the tree.
        target: the one that an option gives to all.
    """

    def __init__(self, targets: Targets, target: str | None) -> None:
        self._targets = targets
        self._given = None if target is None else Side(target)
        self._alike = lru_cache(_REMEMBERED)(targets.alike)
        self._locate_from_here = lru_cache(_REMEMBERED)(self._locate_anywhere)

    def of(self, checkpoint: Surveyed) -> Subject:
        """Return the draft with its target, or why it has none."""
        draft = Side(checkpoint.path, checkpoint)
        if self._given is not None:
            return Subject(self._given, draft, "--target")
        if checkpoint.profile.kind == "unknown":
            return Subject(None, draft, unpaired="its config.json cannot be read")
        answer = self._stated(checkpoint) or self._alike(checkpoint.profile)
        if isinstance(answer, Unpaired):
            return Subject(None, draft, unpaired=answer.reason)
        return Subject(Side(answer.target), draft, answer.by, answer.inferred)

    def _stated(self, checkpoint: Surveyed) -> Pairing | Unpaired | None:
        """Return the target that the draft's own files name; `None` where they name none."""
        statements = checkpoint.profile.statements
        for reference, by in statements:
            path = _directory(os.path.join(checkpoint.path, reference))  # noqa: PTH118
            path = path or self._locate_from_here(reference)
            if path is not None:
                return Pairing(path, by)
        if statements:
            named = statements[0].reference
            return Unpaired(f"{statements[0].by} names {named}, which is not here")
        return None

    def _locate_anywhere(self, reference: str) -> str | None:
        """Return where a target is that is named: a path, one of the tree, or in the Hub cache."""
        found = _directory(reference) or self._targets.named(reference)
        if found is None and reference.count("/") == 1 and not reference.startswith((".", "/")):
            snapshot = find_snapshot(reference, "main")
            return None if snapshot is None else reference
        return found


def _directory(place: str) -> str | None:
    """Return the checkpoint's directory at a place, `None` where there is none."""
    return os.path.normpath(place) if os.path.isfile(f"{place}/config.json") else None  # noqa: PTH113
