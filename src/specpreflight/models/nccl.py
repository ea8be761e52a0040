"""What a release of NCCL makes of the environment: values as understood, with their effect."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import field
from typing import TYPE_CHECKING, Literal

from specpreflight.models.finding import Confidence, Origin, Value
from specpreflight.models.frozen import dataclass

if TYPE_CHECKING:
    from specpreflight.models.launch import Launch

#: `used`: NCCL acts on what `text` says. `default`: it falls back to its own default. `ignored`:
#: it never reads the name, or not this one. `fatal`: communicator creation fails.
#: `changed-by-engine`: the engine sets the variable itself. `unknown`: the value is not known.
Effect = Literal["used", "default", "ignored", "fatal", "changed-by-engine", "unknown"]

#: Whether ranks may differ: all ranks, the ranks of one node, not at all, or nobody has said.
Agreement = Literal["all", "node", "no", "unknown"]


@dataclasses.dataclass(frozen=True, slots=True, order=True)
class Release:
    """An NCCL release; orders like NCCL's own numbering."""

    major: int
    minor: int
    patch: int

    def __str__(self) -> str:
        return f"{self.major}.{self.minor}.{self.patch}"


@dataclass(frozen=True, slots=True)
class Understood:
    """What one release makes of one text.

    Attributes:
        kind: `int`, `typed`, `algo`, `proto`, `level`, `interfaces`, `hcas`, `text`, `unknown`.
        text: the understood value in one canonical spelling (`16`, `all:Ring`, `SYS`, `default`).
        effect: what follows from it.
        message: what NCCL prints, with its level (`WARN: …`), or an empty string.
        number: the number of an `int`.
        rest: the end of the text that the number parser left unread.
        sets: collective → enabled words, of `algo` and `proto`; `LL128?` is "where it is safe".
    """

    kind: str
    text: str
    effect: Effect
    message: str = ""
    number: int | None = None
    rest: str = ""
    sets: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class EngineSetting:
    """A variable that the engine writes itself before NCCL reads it.

    `overwrites` says that the user's value is lost; else the engine only fills a gap.
    """

    name: str
    value: str
    function: str
    overwrites: bool
    reason: str = ""


@dataclass(frozen=True, slots=True)
class VariableFacts:
    """What is known of a variable besides its value; releases are those of NCCL's source.

    `since` and `until` are the first and the last release that read it, `until` `None` where the
    newest known one still does; `owner` is who reads it if not libnccl.
    """

    name: str
    meaning: str = ""
    allowed: str = ""
    category: str = ""
    since: Release | None = None
    until: Release | None = None
    default: str = ""
    agreement: Agreement = "unknown"
    agreement_confidence: Confidence = Confidence.INFERRED
    deprecated: str = ""
    source: str = ""
    owner: str = "libnccl"


@dataclass(frozen=True, slots=True)
class NcclVariable:
    """A variable of the launch, as NCCL understands it.

    `value` is the user's text, `None` where it is set to something unknown. `facts` is `None` for
    a name that nobody is known to read; `suggestions` are the names that may have been meant.
    `setting` is what the engine writes instead, or as well.
    """

    name: str
    value: str | None
    origin: Origin
    understood: Understood
    effect: Effect
    facts: VariableFacts | None = None
    suggestions: tuple[str, ...] = ()
    setting: EngineSetting | None = None

    def as_value(self) -> Value:
        """Return the variable as a finding shows it."""
        return Value(self.name, self.value, self.origin)


@dataclass(frozen=True, slots=True)
class NcclReading:
    """The whole NCCL environment of a launch, read as one release reads it.

    `version_text` is the release, `determined_by` how it was found. `variables` are the set ones,
    in alphabetical order; `resolved` the channel, thread and buffer numbers that follow from them
    (bytes for buffers); `settings` what the engine adds.
    """

    release: Release
    determined_by: str
    variables: tuple[NcclVariable, ...] = ()
    resolved: Mapping[str, int | str] = field(default_factory=dict)
    settings: tuple[EngineSetting, ...] = ()

    def variable(self, name: str) -> NcclVariable | None:
        """Return the set variable called `name`."""
        return next((known for known in self.variables if known.name == name), None)

    def in_force(self, name: str) -> NcclVariable | None:
        """Return the variable if its value is known and the engine does not replace it."""
        known = self.variable(name)
        if known is None or known.value is None or known.effect == "changed-by-engine":
            return None
        return known

    def effective(self, name: str) -> str | None:
        """Return the text NCCL will see: the engine's where it overwrites or fills the gap."""
        written = next((one for one in self.settings if one.name == name), None)
        known = self.variable(name)
        if written is not None and (known is None or written.overwrites):
            return written.value
        return None if known is None else known.value


@dataclass(frozen=True, slots=True)
class Disagreement:
    """A variable on which nodes differ: `(value, nodes)`, the most common value first.

    A value of `None` is "unset". `confidence` says how sure it is that they must agree.
    """

    name: str
    groups: tuple[tuple[str | None, tuple[str, ...]], ...]
    confidence: Confidence


def reading_of(launch: Launch) -> NcclReading | None:
    """Return the NCCL environment of a launch, `None` where nobody has read it."""
    reading = launch.facts.get("nccl")
    return reading if isinstance(reading, NcclReading) else None
