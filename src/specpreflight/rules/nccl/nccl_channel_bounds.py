"""The bounds on channels contradict each other or leave too few.

## What it checks
NCCL_MIN_NCHANNELS against NCCL_MAX_NCHANNELS (and the CTAS pair), a maximum of one or two channels,
and on releases up to 2.24 an NCCL_MAX_CTAS of zero or less.

## What the engine does
For channels the minimum wins; for CTAs both become the maximum. Fewer channels mean less bandwidth.
Up to 2.24 `NCCL_MAX_CTAS=0` leaves no channel at all, later releases ignore it.

## Example
`NCCL_MIN_NCHANNELS=16 NCCL_MAX_NCHANNELS=8`: sixteen channels.

## Fix
Give one of the two, or bounds in order.

## Fix safety
Nothing is written.

## How sure
Proven: the arithmetic is restated and compared with NCCL's own, compiled from nine releases.

## References
NVIDIA/nccl `src/graph/connect.cc:ncclTopoPostset`, `src/init.cc:envConfigOverride`.
"""

from __future__ import annotations

from collections.abc import Iterator

from specpreflight.models.finding import Finding, Outcome, Severity, Stage
from specpreflight.models.launch import Launch
from specpreflight.models.nccl import NcclReading, NcclVariable, Release, reading_of
from specpreflight.models.resolved import Resolved
from specpreflight.rules.nccl.wording import unset
from specpreflight.rules.rule import Rule

_ZERO_CTAS_IGNORED = Release(2, 25, 1)


def check(launch: Launch, resolved: Resolved) -> Iterator[Finding]:
    """Report crossed bounds, very low maxima, and no channel at all."""
    reading = reading_of(launch)
    if reading is None:
        return
    for kind in ("NCHANNELS", "CTAS"):
        low, high = (_number(reading, f"NCCL_{side}_{kind}") for side in ("MIN", "MAX"))
        if low and high and _value(low) > _value(high) > 0:
            yield _crossed(low, high, kind)
        elif high and (_value(high) in (1, 2) or _is_no_channel(high, kind, reading)):
            yield _too_few(high, kind, reading)


def _number(reading: NcclReading, name: str) -> NcclVariable | None:
    known = reading.in_force(name)
    return known if known is not None and known.understood.number is not None else None


def _value(variable: NcclVariable) -> int:
    return variable.understood.number or 0


def _is_no_channel(high: NcclVariable, kind: str, reading: NcclReading) -> bool:
    return kind == "CTAS" and _value(high) <= 0 and reading.release < _ZERO_CTAS_IGNORED


def _crossed(low: NcclVariable, high: NcclVariable, kind: str) -> Finding:
    taken = _value(low) if kind == "NCHANNELS" else _value(high)
    return Finding(
        RULE.name,
        Outcome.ADJUSTS,
        f"{low.name}={_value(low)} is above {high.name}={_value(high)}; NCCL takes {taken}",
        severity=Severity.WARNING,
        values=(low.as_value(), high.as_value()),
        remedies=(unset(low.name), unset(high.name)),
    )


def _too_few(high: NcclVariable, kind: str, reading: NcclReading) -> Finding:
    none = _is_no_channel(high, kind, reading)
    return Finding(
        RULE.name,
        Outcome.CRASHES if none else Outcome.DEGRADES,
        f"{high.name}={_value(high)} leaves {'no channel' if none else 'little bandwidth'}",
        stage=Stage.WEIGHTS if none else Stage.SERVING,
        detail="Each channel is a ring of its own; NCCL finds four or more on most machines.",
        values=(high.as_value(),),
        remedies=(unset(high.name),),
    )


RULE = Rule(
    name="nccl-channel-bounds",
    summary="the bounds on channels contradict each other or leave too few",
    since="0.1.0",
    engines=("sglang", "vllm"),
    check=check,
)
