"""A debug setting prints nothing, or was left on.

## What it checks
NCCL_DEBUG and NCCL_DEBUG_SUBSYS with words that this release does not know; levels and checks
that cost time in production.

## What the engine does
An unknown level silences NCCL altogether. Up to 2.30.4 blanks and a carriage return make a level
unknown, and unknown subsystems are dropped one by one; from 2.30.7 on blanks are trimmed and one
unknown subsystem discards the whole list.

## Example
`NCCL_DEBUG=DEBUG`: no output at all.

## Fix
`NCCL_DEBUG=INFO` while looking for a fault, WARN or nothing in production.

## Fix safety
Safe: output only.

## How sure
Proven: compared with NCCL's own parsers of ten releases.

## References
NVIDIA/nccl `src/debug.cc:ncclDebugInit`, `src/include/param/`.
"""

from __future__ import annotations

from collections.abc import Iterator

from specpreflight.models.finding import Finding, Outcome
from specpreflight.models.launch import Launch
from specpreflight.models.nccl import NcclReading, NcclVariable, reading_of
from specpreflight.models.resolved import Resolved
from specpreflight.rules.nccl.wording import set_to, shown, unset
from specpreflight.rules.rule import Rule

_SLOW = {
    "NCCL_CHECK_POINTERS": ("1", "checks every pointer of every call"),
    "NCCL_CHECK_MODE": ("DEBUG_GLOBAL", "checks every call on all ranks"),
    "NCCL_DEBUG": ("TRACE", "prints every call"),
}


def check(launch: Launch, resolved: Resolved) -> Iterator[Finding]:
    """Report debug words that mean nothing and checks that cost time."""
    reading = reading_of(launch)
    if reading is None:
        return
    level = reading.in_force("NCCL_DEBUG")
    if level is not None and level.value and level.understood.effect == "default":
        yield _silent(level, reading)
    subsystems = reading.in_force("NCCL_DEBUG_SUBSYS")
    if subsystems is not None and _is_lost(subsystems):
        yield _nothing(subsystems)
    for name, (value, cost) in _SLOW.items():
        known = reading.in_force(name)
        if known is not None and known.understood.text == value:
            yield Finding(
                RULE.name,
                Outcome.DEGRADES,
                f"{name}=`{shown(known.value)}` {cost}",
                values=(known.as_value(),),
                remedies=(unset(name),),
            )


def _is_lost(variable: NcclVariable) -> bool:
    understood = variable.understood
    return bool(variable.value) and (understood.text == "none" or understood.effect == "default")


def _silent(variable: NcclVariable, reading: NcclReading) -> Finding:
    return Finding(
        RULE.name,
        Outcome.DEGRADES,
        f"NCCL_DEBUG=`{shown(variable.value)}` is no level: NCCL prints nothing at all",
        detail=f"NCCL {reading.release} knows VERSION, WARN, INFO, ABORT and TRACE.",
        values=(variable.as_value(),),
        remedies=(set_to("NCCL_DEBUG", "INFO"),),
    )


def _nothing(variable: NcclVariable) -> Finding:
    taken = variable.understood.text
    result = "no subsystem" if taken == "none" else f"the default, {taken}"
    return Finding(
        RULE.name,
        Outcome.STARTS,
        f"NCCL_DEBUG_SUBSYS=`{shown(variable.value)}` gives {result}",
        values=(variable.as_value(),),
        remedies=(unset("NCCL_DEBUG_SUBSYS"),),
    )


RULE = Rule(
    name="nccl-debug-setting",
    summary="a debug setting prints nothing, or was left on",
    since="0.1.0",
    engines=("sglang", "vllm"),
    check=check,
)
