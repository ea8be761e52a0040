"""NVLink SHARP is forced on where it is not used or not there.

## What it checks
NCCL_NVLS_ENABLE=1 on a machine without NVLink, or together with an NCCL_ALGO that leaves NVLS out.

## What the engine does
1 skips the support probe and assumes multicast; 2, the default, asks the driver first. NVLS is set
up even where NCCL_ALGO never uses it, and the set-up hung or failed where the driver or the fabric
manager cannot bind multicast memory.

## Example
`NCCL_NVLS_ENABLE=1 NCCL_ALGO=Ring`, NVIDIA/nccl#1197: a hang at initialisation.

## Fix
`NCCL_NVLS_ENABLE=0`, or unset it.

## Fix safety
Safe: without NVLS in NCCL_ALGO nothing is lost.

## How sure
Proven that the probe is skipped; the hang was observed.

## References
NVIDIA/nccl `src/transport/nvls.cc:ncclNvlsInit`; NVIDIA/nccl#1197; sgl-project/sglang-omni#2041.
"""

from __future__ import annotations

from collections.abc import Iterator

from specpreflight.models.finding import Confidence, Finding, Outcome, Severity, Stage
from specpreflight.models.launch import Launch
from specpreflight.models.nccl import reading_of
from specpreflight.models.resolved import Resolved
from specpreflight.rules.nccl.wording import set_to, shown
from specpreflight.rules.rule import Rule


def check(launch: Launch, resolved: Resolved) -> Iterator[Finding]:
    """Report a forced NVLS that cannot or will not be used."""
    reading = reading_of(launch)
    nvls = reading and reading.in_force("NCCL_NVLS_ENABLE")
    if reading is None or not nvls or nvls.understood.number != 1:
        return
    algorithms = reading.in_force("NCCL_ALGO")
    unused = algorithms is not None and not any(
        "NVLS" in words or "NVLSTree" in words for words in algorithms.understood.sets.values()
    )
    absent = launch.hardware.nvlink is False
    if not unused and not absent:
        return
    named = "" if algorithms is None else shown(algorithms.value)
    why = "these GPUs have no NVLink" if absent else f"NCCL_ALGO=`{named}` leaves it out"
    yield Finding(
        RULE.name,
        Outcome.HANGS,
        f"NCCL_NVLS_ENABLE=1 sets NVLS up without asking, though {why}",
        stage=Stage.WEIGHTS,
        confidence=Confidence.OBSERVED,
        severity=Severity.WARNING,
        detail="The set-up is done whether or not an algorithm uses it; it hung or failed on "
        "machines that cannot bind multicast memory.",
        values=(nvls.as_value(), *((algorithms.as_value(),) if algorithms and unused else ())),
        remedies=(set_to("NCCL_NVLS_ENABLE", "0"),),
    )


RULE = Rule(
    name="nccl-nvls-forced",
    summary="NVLink SHARP is forced on where it is not used or not there",
    since="0.1.0",
    engines=("sglang", "vllm"),
    check=check,
)
