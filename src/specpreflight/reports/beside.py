"""What stands beside the reports of a scan, in the same words in every format."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Final, NamedTuple

from specpreflight.models.beside import Beside

if TYPE_CHECKING:
    from specpreflight.models.idle import Idle

#: Stands above ignores and known findings that do nothing.
IDLE: Final = "ignores and known findings that have nothing to do any more"

#: So many findings of a baseline are named one by one.
_MOST_NAMED: Final = 10


class Entry(NamedTuple):
    """One thing: where it is (a path, or file and line; empty if nowhere), and what it is."""

    place: str
    message: str

    def __str__(self) -> str:
        return f"{self.place}: {self.message}" if self.place else self.message


class Section(NamedTuple):
    """Things of a kind under a heading; `kind` is the field of `Beside` that they are from."""

    kind: str
    heading: str
    entries: Sequence[Entry]

    @property
    def is_failure(self) -> bool:
        """Whether the exit code says of them that not all was checked."""
        return self.kind in ("failed", "broken", "unreadable")


def sections_of(beside: Beside) -> Iterator[Section]:
    """Yield what there is, the worst first."""
    failed = [Entry("", text) for text in beside.failed]
    broken = [Entry("", text) for text in beside.broken]
    unreadable = [Entry(*one) for one in beside.unreadable]
    unpaired = [Entry(*one) for one in beside.unpaired]
    idle = [Entry(one.by, one.message) for one in beside.idle]
    for section in (
        Section("failed", "launches that could not be checked", failed),
        Section("broken", "rules that failed", broken),
        Section("unreadable", "what could not be read", unreadable),
        Section("unpaired", "drafts without a target", unpaired),
        Section("idle", IDLE, idle),
    ):
        if section.entries:
            yield section


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
