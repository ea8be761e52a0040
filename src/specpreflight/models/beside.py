"""What there is to say of a tree beside the reports on its launches."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from specpreflight.models.idle import Idle


class Beside(NamedTuple):
    """What no report on a launch holds.

    Attributes:
        failed: why launches have no report, a defect of this program, one text each.
        unreadable: paths that could not be read or understood, and why.
        unpaired: drafts that were checked without a target, and why.
        idle: ignores and known findings that have nothing to do any more.
        broken: rules and plugins that failed, one text each, however many launches they were for.
    """

    failed: Sequence[str] = ()
    unreadable: Sequence[tuple[str, str]] = ()
    unpaired: Sequence[tuple[str, str]] = ()
    idle: Sequence[Idle] = ()
    broken: Sequence[str] = ()


NOTHING: Final = Beside()
