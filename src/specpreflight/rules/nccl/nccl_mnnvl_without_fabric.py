"""Multi-node NVLink is required on a machine that has none.

## What it checks
NCCL_MNNVL_ENABLE=1 where the GPUs are known to have no NVLink.

## What the engine does
1 makes the fabric a condition: communicator creation fails without it. 2, the default, uses it
where it is there.

## Example
`NCCL_MNNVL_ENABLE=1`, copied from a GB200 recipe to a PCIe box.

## Fix
Unset it.

## Fix safety
Safe: the default finds the fabric by itself.

## How sure
Documented by NVIDIA.

## References
NCCL user guide, NCCL_MNNVL_ENABLE; NVIDIA/nccl `src/mnnvl.cc`.
"""

from __future__ import annotations

from collections.abc import Iterator

from specpreflight.models.finding import Confidence, Finding, Outcome, Stage
from specpreflight.models.launch import Launch
from specpreflight.models.nccl import reading_of
from specpreflight.models.resolved import Resolved
from specpreflight.rules.nccl.wording import unset
from specpreflight.rules.rule import Rule


def check(launch: Launch, resolved: Resolved) -> Iterator[Finding]:
    """Report a required fabric on GPUs without NVLink."""
    reading = reading_of(launch)
    mnnvl = reading and reading.in_force("NCCL_MNNVL_ENABLE")
    if not mnnvl or mnnvl.understood.number != 1 or launch.hardware.nvlink is not False:
        return
    yield Finding(
        RULE.name,
        Outcome.CRASHES,
        "NCCL_MNNVL_ENABLE=1 requires an NVLink fabric, and these GPUs have no NVLink",
        stage=Stage.WEIGHTS,
        confidence=Confidence.OBSERVED,
        values=(mnnvl.as_value(),),
        remedies=(unset("NCCL_MNNVL_ENABLE"),),
    )


RULE = Rule(
    name="nccl-mnnvl-without-fabric",
    summary="multi-node NVLink is required on a machine that has none",
    since="0.1.0",
    engines=("sglang", "vllm"),
    needs=("hardware",),
    check=check,
)
