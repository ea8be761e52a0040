"""Ignores and known findings that have nothing to do any more, as lines of text."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from specpreflight.models.idle import Idle

#: Stands above them.
HEADING: Final = "ignores and known findings that have nothing to do any more"

#: So many findings of a baseline are named one by one.
_MOST_NAMED: Final = 10


def tell_idle(idle: Sequence[Idle]) -> Iterator[str]:
    """Yield a line for each, and what to do about a baseline's."""
    gone = [one for one in idle if one.kind == "gone"]
    for one in idle:
        if one.kind != "gone":
            yield f"{one.by}: {one.message}"
    for one in gone[:_MOST_NAMED]:
        yield f"{one.by}: {one.message}"
    if len(gone) > _MOST_NAMED:
        yield f"{gone[0].by}: and {len(gone) - _MOST_NAMED} more are gone"
    if gone:
        yield f"{gone[0].by}: take it out with: specpreflight baseline prune {gone[0].by} …"
