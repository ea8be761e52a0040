"""Finding: one thing a rule saw in one launch, with its values, remedies and place."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from enum import Enum
from typing import Any, Literal

from specpreflight.models.frozen import dataclass


class Outcome(str, Enum):
    """What the engine will do, from harmless to worst."""

    STARTS = "starts"
    ADJUSTS = "adjusts"
    DEGRADES = "degrades"
    ACCEPTS_NOTHING = "accepts-nothing"
    WRONG_OUTPUT = "wrong-output"
    HANGS = "hangs"
    CRASHES = "crashes"
    REFUSES = "refuses"


class Stage(str, Enum):
    """What the engine is doing when it stops."""

    ARGUMENTS = "arguments"
    TARGET_CONFIG = "target-config"
    DRAFT_CONFIG = "draft-config"
    WEIGHTS = "weights"
    WARMUP = "warmup"
    SERVING = "serving"


class Severity(str, Enum):
    """How a finding counts against `--fail-on`."""

    ERROR = "error"
    WARNING = "warning"
    NOTE = "note"


class Confidence(str, Enum):
    """How sure a finding is: the engine's own code, public reports, or inference."""

    PROVEN = "proven"
    OBSERVED = "observed"
    INFERRED = "inferred"


SEVERITY_OF_OUTCOME: Mapping[Outcome, Severity] = {
    Outcome.STARTS: Severity.NOTE,
    Outcome.ADJUSTS: Severity.NOTE,
    Outcome.DEGRADES: Severity.WARNING,
    Outcome.ACCEPTS_NOTHING: Severity.ERROR,
    Outcome.WRONG_OUTPUT: Severity.ERROR,
    Outcome.HANGS: Severity.ERROR,
    Outcome.CRASHES: Severity.ERROR,
    Outcome.REFUSES: Severity.ERROR,
}

#: Outcomes after which the server does not come up or goes down.
STOPPING = frozenset({Outcome.REFUSES, Outcome.CRASHES, Outcome.HANGS})


#: Metadata of a field that is not part of the JSON report.
INTERNAL: Mapping[str, bool] = {"internal": True}

#: Metadata of a field that a JSON report has only where it is not `None`.
OPTIONAL: Mapping[str, bool] = {"optional": True}


@dataclass(frozen=True, slots=True)
class Origin:
    """Where a value came from.

    `path`, `pointer` (RFC 6901), `line`, `column`, `end_column` (1-based, `end_column` exclusive)
    for a file; `name` for a flag (`--context-length`), a variable, or the engine's own function.
    """

    kind: Literal["file", "flag", "environment", "default", "engine"]
    path: str | None = None
    pointer: str | None = None
    line: int | None = None
    column: int | None = None
    end_column: int | None = None
    name: str | None = None


@dataclass(frozen=True, slots=True)
class Value:
    """One of the values that a finding compares; `value` is JSON data."""

    label: str
    value: Any
    origin: Origin


@dataclass(frozen=True, slots=True)
class Edit:
    """A change of one JSON value in a file; `before` is `MISSING` where the key is to be added."""

    path: str
    pointer: str
    before: Any
    after: Any


#: Stands for "no such key" in `Edit.before` and "remove the key" in `Edit.after`.
MISSING = "<missing>"


@dataclass(frozen=True, slots=True)
class Remedy:
    """A way out. `safe` edits are what `--fix` applies; `placeholder` needs a human value."""

    title: str
    kind: Literal["edit", "environment", "flag", "manual"]
    applicability: Literal["safe", "unsafe", "placeholder"]
    edits: tuple[Edit, ...] = ()
    environment: Mapping[str, str] = field(default_factory=dict)
    flags: tuple[str, ...] = ()

    @classmethod
    def flag(cls, title: str, *flags: str) -> Remedy:
        """Return the advice to give `flags`; without any, a human has to choose the value."""
        return cls(title, "flag", "safe" if flags else "placeholder", flags=flags)

    @classmethod
    def manual(cls, title: str) -> Remedy:
        """Return advice that only a human can follow."""
        return cls(title, "manual", "placeholder")


@dataclass(frozen=True, slots=True)
class Ignored:
    """Why a finding does not count: the reason given, and what said so."""

    reason: str
    by: str

    def __str__(self) -> str:
        return f"{self.reason} ({self.by})"


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing a rule saw.

    `message` is a line (lower case, no final full stop, at most 100 characters) with the observed
    and the expected value; `detail` a paragraph that says why; `engine_message` the engine's own
    text. `order` places the finding among others of its stage as the engine meets them; it is not
    part of the report.
    """

    rule: str
    outcome: Outcome
    message: str
    stage: Stage | None = None
    confidence: Confidence = Confidence.PROVEN
    detail: str = ""
    engine_message: str | None = None
    values: tuple[Value, ...] = ()
    remedies: tuple[Remedy, ...] = ()
    severity: Severity | None = None
    fingerprint: str = ""
    ignored: Ignored | None = None
    order: int = field(default=10_000, metadata=INTERNAL)


def files_of(finding: Finding) -> list[str]:
    """Return the files that a finding shows, as the user named them."""
    return [value.origin.path for value in finding.values if value.origin.path is not None]


@dataclass(frozen=True, slots=True)
class Skipped:
    """A rule that could not run, with the fact it needed."""

    rule: str
    needs: str
    reason: str
