"""Everything that the lines of one launch told, before it is judged."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from specpreflight.engines.logs.acceptance import Sample, Speed
from specpreflight.engines.logs.nccl_lines import NcclLog
from specpreflight.engines.logs.tracebacks import Before, TraceReader


@dataclass(slots=True)
class Mark:
    """A fatal line without a traceback"""

    cause: str
    text: str
    number: int
    time: datetime | None
    outer: datetime | None
    before: Before
    values: dict[str, Any] = field(default_factory=dict)


@dataclass(slots=True)
class LaunchLog:
    """What was read of one launch; `step` is the stage of the last line that names one.

    `progress` counts the changes of the step, `reached` those lines of a rank that every rank
    prints.
    """

    first_line: int
    last_line: int = 0
    engines: Counter[str] = field(default_factory=Counter)
    first: datetime | None = None
    first_outer: datetime | None = None
    last: datetime | None = None
    last_outer: datetime | None = None
    last_outer_of_engine: datetime | None = None
    command: str | None = None
    arguments: dict[str, Any] = field(default_factory=dict)
    complete: bool = True
    engine_config: dict[str, Any] = field(default_factory=dict)
    release: str | None = None
    build: str | None = None
    libraries: dict[str, str] = field(default_factory=dict)
    texts: set[str] = field(default_factory=set)
    step: str | None = None
    progress: int = 0
    ready: bool = False
    ready_line: int = 0
    ready_time: datetime | None = None
    served: int = 0
    answers: int = 0
    reached: Counter[str] = field(default_factory=Counter)
    processes: set[str] = field(default_factory=set)
    loads: Counter[str] = field(default_factory=Counter)
    pools: Counter[str] = field(default_factory=Counter)
    values: dict[str, Any] = field(default_factory=dict)
    environment: dict[str, str] = field(default_factory=dict)
    warnings: dict[str, str] = field(default_factory=dict)
    nccl: NcclLog = field(default_factory=NcclLog)
    memory: dict[str, Any] = field(default_factory=dict)
    timed_out_ranks: set[str] = field(default_factory=set)
    assertion: str | None = None
    foreign_lines: int = 0
    shut_down_line: int = 0
    tracebacks: TraceReader = field(default_factory=TraceReader)
    marks: list[Mark] = field(default_factory=list)
    samples: list[Sample] = field(default_factory=list)
    speeds: list[Speed] = field(default_factory=list)

    @property
    def began(self) -> bool:
        """Whether a line of its start was read, so that it is up only when one says so."""
        return self.step is not None or bool(self.arguments)

    @property
    def serves(self) -> bool:
        """Whether it is known to be up: only a few words in its lines matter from then on."""
        return bool(self.engines) and (self.ready or self.served > 0)

    @property
    def now(self) -> Before:
        """How far the launch has come."""
        return Before(self.served, self.progress, self.last)

    @property
    def engine(self) -> str | None:
        """The engine that wrote most of the telling lines."""
        return self.engines.most_common(1)[0][0] if self.engines else None
