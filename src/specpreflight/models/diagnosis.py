"""A diagnosis: what a log says about the launch that wrote it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import Any

from specpreflight.models.finding import Finding
from specpreflight.models.frozen import dataclass


@dataclass(frozen=True, slots=True)
class ReleaseRange:
    """The releases that fit a log, both ends included; `None` is not known."""

    low: str | None = None
    high: str | None = None

    def holds(self, release: str) -> bool:
        """Whether a release lies between the ends."""
        from packaging.version import Version

        low, high = (Version(end) if end else Version(release) for end in (self.low, self.high))
        return low <= Version(release) <= high

    def __str__(self) -> str:
        if self.low == self.high:
            return self.low or "of an unknown release"
        if self.low and self.high:
            return f"{self.low} - {self.high}"
        return f"{self.low} or later" if self.low else f"up to {self.high}"


@dataclass(frozen=True, slots=True)
class LoggedLaunch:
    """A launch as its log prints it: after the engine's own adjustments, secrets left out.

    `environment` are variables that NCCL or a traced shell printed, `proven` those that a line
    could not have come to be without. `complete` is false where the line of the arguments was cut.
    """

    target: str | None = None
    draft: str | None = None
    arguments: Mapping[str, Any] = field(default_factory=dict)
    environment: Mapping[str, str] = field(default_factory=dict)
    proven: Mapping[str, str] = field(default_factory=dict)
    command: str | None = None
    complete: bool = True

    @property
    def cut(self) -> str | None:
        """What is to be said where not all arguments are known, `None` where they are."""
        if self.complete:
            return None
        last = f" after `{list(self.arguments)[-1]}`" if self.arguments else ""
        return f"the line of the arguments is cut{last}; what follows there is not known"


@dataclass(frozen=True, slots=True)
class Suspect:
    """A rule that explains a draft of little use; `seen` where the log itself shows it."""

    rule: str
    why: str
    seen: bool = False


@dataclass(frozen=True, slots=True)
class Serving:
    """What a server did while it served.

    Attributes:
        tokens_per_second: generated, of all requests; the mean over the periodic lines.
        tokens_per_request: the same for one request.
        is_falling: the acceptance length went down by much.
        suspects: what explains an acceptance of little use, the likeliest first.
    """

    tokens_per_second: float | None = None
    tokens_per_request: float | None = None
    is_falling: bool = False
    suspects: tuple[Suspect, ...] = ()


@dataclass(frozen=True, slots=True)
class NcclReport:
    """What NCCL printed of itself, and where that is not what the variables asked for."""

    told: Mapping[str, Any] = field(default_factory=dict)
    not_as_asked: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """What became of one launch.

    Attributes:
        engine: `sglang`, `vllm`, or `None` where no line is an engine's.
        healthy: `None` where the log ends before anything is decided.
        stage: the step that the launch was in (`ARG`, `CFG`, `DIST`, `TW`, `TKV`, `TGR`, `DCFG`,
            `DW`, `DKV`, `DGR`, `WARM`, `READY`, `RUN`).
        cause: id of the failure shape, `L-UNKNOWN` for a fatal error of no known shape.
        rule: the rule that reports it before a launch.
        message: the error's own text.
        values: what the messages say, by name.
        seconds_to_death: from the engine's first line to its first fatal one.
        acceptance_length: tokens a verification step, the bonus token included where the release
            counts it; the mean over the log.
        acceptance_rate: as the release prints it, 0 to 1.
        silent_fault: `no-acceptance` or `little-acceptance` for a server that looks healthy.
        lengths: acceptance lengths over time.
        warnings: known lines that are easily overlooked, once each, by a short name.
        first_line: the launch's first line in the file, from 1.
        earlier: the launches before this one in the same file.
        serving: throughput, and what explains a draft of little use.
        memory: GB and seconds of weights, KV cache and graphs, by name.
        nccl: version, channels, transports.
        seconds_to_ready: from the engine's first line to the one that says it is up.
        last_step: the last step of the start that was begun.
        nearest: for an error of no known shape, the ids of those most like it.
    """

    engine: str | None
    version: ReleaseRange
    healthy: bool | None
    stage: str | None
    cause: str | None
    rule: str | None
    message: str | None
    values: Mapping[str, Any]
    seconds_to_death: float | None
    acceptance_length: float | None
    acceptance_rate: float | None
    silent_fault: str | None
    lengths: tuple[float, ...]
    warnings: Mapping[str, str]
    launch: LoggedLaunch
    first_line: int
    last_line: int
    earlier: tuple[Diagnosis, ...] = ()
    serving: Serving = Serving()
    memory: Mapping[str, Any] = field(default_factory=dict)
    nccl: NcclReport = NcclReport()
    seconds_to_ready: float | None = None
    nearest: tuple[str, ...] = ()
    last_step: str | None = None

    def as_data(self) -> dict[str, Any]:
        """Return what `--format json` prints."""
        return {
            "engine": self.engine,
            "version": {"low": self.version.low, "high": self.version.high},
            "healthy": self.healthy,
            "stage": self.stage,
            "last_step": self.last_step,
            "cause": self.cause,
            "rule": self.rule,
            "message": self.message,
            "values": dict(self.values),
            "seconds_to_death": self.seconds_to_death,
            "acceptance_length": self.acceptance_length,
            "acceptance_rate": self.acceptance_rate,
            "silent_fault": self.silent_fault,
            "suspects": [
                {"rule": one.rule, "why": one.why, "seen": one.seen}
                for one in self.serving.suspects
            ],
            "is_falling": self.serving.is_falling,
            "tokens_per_second": self.serving.tokens_per_second,
            "tokens_per_request": self.serving.tokens_per_request,
            "seconds_to_ready": self.seconds_to_ready,
            "memory": dict(self.memory),
            "nccl": {**self.nccl.told, "not_as_asked": list(self.nccl.not_as_asked)},
            "nearest": list(self.nearest),
            "warnings": dict(self.warnings),
            "launch": {
                "target": self.launch.target,
                "draft": self.launch.draft,
                "arguments": dict(self.launch.arguments),
                "complete": self.launch.complete,
                "environment": {**self.launch.proven, **self.launch.environment},
            },
            "first_line": self.first_line,
            "last_line": self.last_line,
            "earlier": [launch.as_data() for launch in self.earlier],
        }


@dataclass(frozen=True, slots=True)
class Difference:
    """Something that two runs do not share.

    `explains` says why it can be the reason for the failure; `None` where nothing is known.
    `by_default` is true for a flag that nobody gave: the two releases have different defaults.
    """

    name: str
    good: str | None
    bad: str | None
    explains: str | None = None
    by_default: bool = False


@dataclass(frozen=True, slots=True)
class Checked:
    """What `check` says of the launch that a log tells of.

    Attributes:
        explaining: its findings that explain what the log tells.
        others: how many further findings stop the launch.
        missing: what the launch names and is not on this machine, and how to give it.
        differs: the diagnosis names a rule, and both checkpoints that were read do not have it.
        problem: why nothing could be checked.
        command: what to type for the whole report.
    """

    explaining: tuple[Finding, ...] = ()
    others: int = 0
    missing: tuple[str, ...] = ()
    differs: bool = False
    problem: str | None = None
    command: str | None = None
