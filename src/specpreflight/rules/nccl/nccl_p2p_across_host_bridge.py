"""Direct GPU-to-GPU transfers are asked for across a CPU host bridge.

## What it checks
NCCL_P2P_LEVEL=PHB or SYS (also as the numbers 3 and up) on a machine whose topology is known to
have no NVLink and whose GPUs sit behind a CPU host bridge or in two sockets.

## What the engine does
NCCL's default without NVLink is PXB, so such a level is a real change. Transfers that cross the
host bridge fail where the IOMMU translates or ACS redirects them: initialisation completes and the
first all-reduce hangs. Across sockets they work and are slow.

## Example
`NCCL_P2P_LEVEL=SYS` on eight RTX PRO 6000 in two sockets: 0.53 GB/s instead of 7.3.

## Fix
Unset it, or take the widest level inside a socket (PHB); test one all-reduce before serving.

## Fix safety
Unsafe: what is faster must be measured on the machine.

## How sure
Observed in public reports; whether ACS or the IOMMU interferes here cannot be seen.

## References
NVIDIA/nccl `src/graph/paths.cc:ncclTopoCheckP2p`; NVIDIA/nccl#1999, #2079, #667;
vllm-project/vllm#33041, #51513.
"""

from __future__ import annotations

from collections.abc import Iterator

from specpreflight.models.finding import Confidence, Finding, Outcome, Severity, Stage
from specpreflight.models.launch import Launch
from specpreflight.models.nccl import reading_of
from specpreflight.models.resolved import Resolved
from specpreflight.rules.nccl.wording import set_to, shown, unset
from specpreflight.rules.rule import Rule

_BEHIND_A_BRIDGE = ("PHB", "NODE", "SYS")


def check(launch: Launch, resolved: Resolved) -> Iterator[Finding]:
    """Report a level that reaches across the CPU on a machine without NVLink."""
    reading = reading_of(launch)
    level = reading and reading.in_force("NCCL_P2P_LEVEL")
    topology = launch.hardware.topology
    if reading is None or not level or level.understood.text not in ("PHB", "SYS"):
        return
    disable = reading.in_force("NCCL_P2P_DISABLE")
    if disable is not None and disable.understood.text == "LOC":
        return
    if topology is None or launch.hardware.nvlink is not False:
        return
    farthest = topology.farthest
    if farthest not in _BEHIND_A_BRIDGE:
        return
    sockets = farthest == "SYS" and level.understood.text == "SYS"
    where = "between sockets" if sockets else "across a host bridge"
    yield Finding(
        RULE.name,
        Outcome.DEGRADES if sockets else Outcome.HANGS,
        f"NCCL_P2P_LEVEL=`{shown(level.value)}` allows P2P {where}, with {farthest} links here",
        stage=Stage.SERVING,
        confidence=Confidence.OBSERVED,
        severity=Severity.WARNING,
        detail="With ACS redirect or IOMMU translation the first all-reduce hangs; between "
        "sockets it was measured at a tenth of the speed. Test one all-reduce on this machine.",
        values=(level.as_value(),),
        remedies=(unset("NCCL_P2P_LEVEL"), set_to("NCCL_P2P_LEVEL", "PHB", safe=False)),
    )


RULE = Rule(
    name="nccl-p2p-across-host-bridge",
    summary="direct GPU-to-GPU transfers are asked for across a CPU host bridge",
    since="0.1.0",
    engines=("sglang", "vllm"),
    needs=("hardware",),
    check=check,
)
