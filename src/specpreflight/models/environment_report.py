"""What `env show` says: the NCCL environment of one node, and whether it will be there again."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field

from specpreflight.models.finding import Finding, Origin
from specpreflight.models.frozen import dataclass
from specpreflight.models.nccl import EngineSetting, NcclReading
from specpreflight.models.reach import Reach

FORMAT_VERSION = "1"


@dataclass(frozen=True, slots=True)
class ShownVariable:
    """One variable: as written, as understood, and where it survives."""

    name: str
    value: str | None
    understood: str
    effect: str
    kind: str
    message: str
    origin: Origin
    meaning: str = ""
    agreement: str = "unknown"
    suggestions: tuple[str, ...] = ()
    written_by_engine: EngineSetting | None = None
    survives: Mapping[str, Reach] = field(default_factory=dict)
    note: str = ""


@dataclass(frozen=True, slots=True)
class EnvironmentReport:
    """The NCCL environment of one node.

    `node` is the machine's name, `engine` the engine and release that was asked about, `notes`
    what readers of the sources said.
    """

    node: str
    reading: NcclReading
    variables: tuple[ShownVariable, ...]
    findings: tuple[Finding, ...] = ()
    engine: str | None = None
    notes: tuple[str, ...] = ()
