"""NCCL_ALGO names collectives, and NCCL 2.31 switches off all the others.

## What it checks
NCCL_ALGO whose entries all name a collective (`allreduce:tree`) together with an NCCL_PROTO that
starts without one, on NCCL 2.31 or newer; also where an engine sets the two itself.

## What the engine does
From 2.31 on, setting NCCL_ALGO clears the table of every collective that NCCL_PROTO forces, and
only the named ones come back: the first Broadcast fails while the server warms up. From 2.24 to
2.30 the unnamed collectives keep their defaults.

## Example
`--enable-deterministic-inference` (NCCL_ALGO=allreduce:tree) with `NCCL_PROTO=LL`.

## Fix
Name all collectives first: `NCCL_ALGO=ring,tree;allreduce:tree`, or unset NCCL_PROTO.

## Fix safety
Safe where the variable is yours; where the engine writes NCCL_ALGO, unset NCCL_PROTO.

## How sure
Observed in vllm-project/vllm#58179; the source of NCCL 2.31 was not read.

## References
vllm-project/vllm#58179.
"""

from __future__ import annotations

from collections.abc import Iterator

from specpreflight.models.finding import Confidence, Finding, Origin, Outcome, Stage, Value
from specpreflight.models.launch import Launch
from specpreflight.models.nccl import NcclReading, Release, reading_of
from specpreflight.models.resolved import Resolved
from specpreflight.rules.nccl.wording import set_to, shown, unset
from specpreflight.rules.rule import Rule

_CLEARS_OTHERS = Release(2, 31, 0)


def check(launch: Launch, resolved: Resolved) -> Iterator[Finding]:
    """Report the pair that leaves unnamed collectives without an algorithm."""
    reading = reading_of(launch)
    if reading is None or reading.release < _CLEARS_OTHERS:
        return
    algorithms, protocols = reading.effective("NCCL_ALGO"), reading.effective("NCCL_PROTO")
    if not algorithms or not protocols:
        return
    if ":" not in algorithms.partition(";")[0] or ":" in protocols.partition(";")[0]:
        return
    yours = reading.in_force("NCCL_ALGO") is not None
    yield Finding(
        RULE.name,
        Outcome.CRASHES,
        f"NCCL_ALGO=`{shown(algorithms)}` with NCCL_PROTO leaves Broadcast nothing to run",
        stage=Stage.WARMUP,
        confidence=Confidence.OBSERVED,
        detail=f"NCCL {reading.release} switches off every collective that NCCL_ALGO does not "
        "name once NCCL_PROTO forces a protocol for all.",
        engine_message="No algorithm/protocol nor symKernelId available for function Broadcast",
        values=(_value(reading, "NCCL_ALGO"), _value(reading, "NCCL_PROTO")),
        remedies=(
            (set_to("NCCL_ALGO", "ring,tree;allreduce:tree"), unset("NCCL_PROTO"))
            if yours
            else (unset("NCCL_PROTO"),)
        ),
    )


def _value(reading: NcclReading, name: str) -> Value:
    known = reading.in_force(name)
    if known is not None:
        return known.as_value()
    setting = next((one for one in reading.settings if one.name == name), None)
    function = setting.function if setting else None
    return Value(name, reading.effective(name), Origin("engine", name=function))


RULE = Rule(
    name="nccl-only-named-collectives",
    summary="NCCL_ALGO names collectives, and NCCL 2.31 switches off all the others",
    since="0.1.0",
    engines=("sglang", "vllm"),
    check=check,
)
