"""The NCCL environment of one node as `env show --format json` left it, for comparison."""

from __future__ import annotations

from collections.abc import Mapping

from specpreflight.models.finding import Confidence
from specpreflight.models.frozen import dataclass
from specpreflight.models.nccl import Agreement


@dataclass(frozen=True, slots=True)
class KeptVariable:
    """A variable of a snapshot: as written, and what NCCL made of it there."""

    value: str | None
    understood: str
    effect: str
    agreement: str
    written_by_engine: str | None = None


@dataclass(frozen=True, slots=True)
class Snapshot:
    """What one node or container reported.

    `label` is unique among those compared: the node's name, with the file's where two share it.
    `determined_by` says how sure the release is.
    """

    label: str
    node: str
    release: str
    determined_by: str
    variables: Mapping[str, KeptVariable]


@dataclass(frozen=True, slots=True)
class Difference:
    """A variable that snapshots understand differently: `(value, labels)`, most common first."""

    name: str
    groups: tuple[tuple[str | None, tuple[str, ...]], ...]
    agreement: Agreement
    confidence: Confidence
    breaks: bool
