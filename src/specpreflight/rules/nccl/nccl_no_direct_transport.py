"""Neither P2P nor shared memory is left between the GPUs of a node.

## What it checks
NCCL_SHM_DISABLE=1 together with NCCL_P2P_DISABLE=1 or a P2P level of LOC.

## What the engine does
The GPUs of one machine then talk through the network stack; without a usable network,
communicator creation fails.

## Example
`NCCL_P2P_DISABLE=1 NCCL_SHM_DISABLE=1`, left from looking for a hang.

## Fix
Allow one of the two; in a container give it `--ipc=host` or a larger `--shm-size`.

## Fix safety
Nothing is written.

## How sure
Documented by NVIDIA; how slow it is depends on the network.

## References
NCCL user guide, NCCL_SHM_DISABLE.
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
    """Report the pair that leaves only the network."""
    reading = reading_of(launch)
    if reading is None:
        return
    shared = reading.in_force("NCCL_SHM_DISABLE")
    direct = reading.in_force("NCCL_P2P_DISABLE") or reading.in_force("NCCL_P2P_LEVEL")
    if shared is None or direct is None:
        return
    if shared.understood.number in (0, None) or direct.understood.text != "LOC":
        return
    yield Finding(
        RULE.name,
        Outcome.DEGRADES,
        "P2P and shared memory are both off: the GPUs of a node talk through the network",
        stage=Stage.SERVING,
        confidence=Confidence.OBSERVED,
        values=(direct.as_value(), shared.as_value()),
        remedies=(unset("NCCL_SHM_DISABLE"),),
    )


RULE = Rule(
    name="nccl-no-direct-transport",
    summary="neither P2P nor shared memory is left between the GPUs of a node",
    since="0.1.0",
    engines=("sglang", "vllm"),
    check=check,
)
