"""What is to be checked: each draft with its target, and what stands alone."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator, Sequence
from fnmatch import fnmatch
from typing import NamedTuple

from specpreflight.models.pairing import Pairing, Statement, Unpaired
from specpreflight.scanning.survey import Survey, Surveyed, card_statements
from specpreflight.sources.pairs_file import StatedPair


class Subject(NamedTuple):
    """A launch to check.

    `paired_by` says what made it a pair; `unpaired` why a draft stands alone. With neither it is
    a target that no draft here is for.
    """

    target: str | None
    draft: str | None
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
    """Yield every pair and every checkpoint that stands alone, in the order of the tree.

    Args:
        found: the tree.
        target: the target of all drafts that a pairs file does not name.
        pairs: those of a pairs file.
        launched: real paths of checkpoints that a launch file names; its launch checks them.
    """
    used = set(launched)
    alone = []
    matched = set()
    for checkpoint in found.checkpoints:
        stated = [pair for pair in pairs if _names(pair.draft, checkpoint.path)]
        matched.update(stated)
        made = [Subject(pair.target, checkpoint.path, pair.by) for pair in stated]
        if not made and checkpoint.profile.kind != "target":
            if os.path.realpath(checkpoint.path) in used:
                continue
            made = [_pair(checkpoint, found, target)]
        if not made:
            alone.append(checkpoint.path)
        used.update(os.path.realpath(one.target) for one in made if one.target is not None)
        yield from made
    for pair in pairs:
        if pair not in matched and not any(letter in pair.draft for letter in "*?["):
            yield Subject(pair.target, pair.draft, pair.by)
            used.add(os.path.realpath(pair.target))
    for path in alone:
        if os.path.realpath(path) not in used:
            yield Subject(path, None)


def _names(pattern: str, path: str) -> bool:
    return fnmatch(os.path.normpath(path), os.path.normpath(pattern)) or os.path.realpath(
        pattern
    ) == os.path.realpath(path)


def _pair(checkpoint: Surveyed, found: Survey, target: str | None) -> Subject:
    path = checkpoint.path
    if target is not None:
        return Subject(target, path, "--target")
    answer = _stated(checkpoint, found) or found.targets.alike(checkpoint.profile)
    if isinstance(answer, Unpaired):
        return Subject(None, path, unpaired=answer.reason)
    return Subject(answer.target, path, answer.by, answer.inferred)


def _stated(checkpoint: Surveyed, found: Survey) -> Pairing | Unpaired | None:
    """Return the target that the draft's own files name; `None` where they name none."""
    statements = [
        *checkpoint.profile.statements,
        *(Statement(*each) for each in card_statements(checkpoint.path)),
    ]
    for statement in statements:
        path = found.targets.named(statement.reference, checkpoint.path)
        if path is not None:
            return Pairing(path, statement.by)
    if statements:
        return Unpaired(f"{statements[0].by} names {statements[0].reference}, which is not here")
    return None
