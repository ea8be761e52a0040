"""What is to be checked: each draft with its target, and what stands alone."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator, Sequence
from fnmatch import fnmatch
from typing import NamedTuple

from specpreflight.models.pairing import Pairing, Targets, Unpaired
from specpreflight.scanning.survey import Survey, Surveyed
from specpreflight.sources.hub_cache import find_snapshot
from specpreflight.sources.pairs_file import StatedPair


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
    targets = found.targets()
    used = set(launched)
    given = _PairsGiven(pairs)
    if target is not None:
        used.add(os.path.realpath(target))
    for checkpoint in found:
        stated = given.of(checkpoint)
        for pair in stated:
            used.update((os.path.realpath(pair.target), checkpoint.real))
            yield Subject(Side(pair.target), Side(checkpoint.path, checkpoint), pair.by)
        if stated or checkpoint.profile.kind == "target" or checkpoint.real in used:
            continue
        subject = _pair(checkpoint, targets, target)
        if subject.target is not None:
            used.add(os.path.realpath(subject.target.given))
        yield subject
    for pair in given.unmatched():
        used.add(os.path.realpath(pair.target))
        yield Subject(Side(pair.target), Side(pair.draft), pair.by)
    for checkpoint in found:
        if checkpoint.profile.kind == "target" and checkpoint.real not in used:
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


def _pair(checkpoint: Surveyed, targets: Targets, target: str | None) -> Subject:
    draft = Side(checkpoint.path, checkpoint)
    if target is not None:
        return Subject(Side(target), draft, "--target")
    if checkpoint.profile.kind == "unknown":
        return Subject(None, draft, unpaired="its config.json cannot be read")
    answer = _stated(checkpoint, targets) or targets.alike(checkpoint.profile)
    if isinstance(answer, Unpaired):
        return Subject(None, draft, unpaired=answer.reason)
    return Subject(Side(answer.target), draft, answer.by, answer.inferred)


def _stated(checkpoint: Surveyed, targets: Targets) -> Pairing | Unpaired | None:
    """Return the target that the draft's own files name; `None` where they name none."""
    statements = checkpoint.profile.statements
    for statement in statements:
        path = _locate(statement.reference, checkpoint.path, targets)
        if path is not None:
            return Pairing(path, statement.by)
    if statements:
        return Unpaired(f"{statements[0].by} names {statements[0].reference}, which is not here")
    return None


def _locate(reference: str, base: str, targets: Targets) -> str | None:
    """Return where a named target is: a path, a directory of the tree, or the Hub cache."""
    for place in (os.path.join(base, reference), reference):  # noqa: PTH118
        if os.path.isfile(os.path.join(place, "config.json")):  # noqa: PTH113, PTH118
            return os.path.normpath(place)
    found = targets.named(reference)
    if found is None and reference.count("/") == 1 and not reference.startswith((".", "/")):
        snapshot = find_snapshot(reference, "main")
        return None if snapshot is None else reference
    return found
