"""What becomes of one pair in several engines, side by side."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from specpreflight.models.frozen import dataclass
from specpreflight.models.report import Report


class Span(NamedTuple):
    """Releases from `since` up to, not including, `before` (`None`: still)."""

    since: str
    before: str | None


@dataclass(frozen=True, slots=True)
class ClassName:
    """A name of the draft's class, and the releases of each engine that register it.

    No span is "never"; `None` stands for an engine whose classes are not known.
    """

    architecture: str
    releases: Mapping[str, tuple[Span, ...] | None]


@dataclass(frozen=True, slots=True)
class PairFate:
    """A target and a draft, `architectures` as the draft's config writes it, a report an engine."""

    target: str
    draft: str
    written: Any
    reports: tuple[Report, ...]
    names: tuple[ClassName, ...]
