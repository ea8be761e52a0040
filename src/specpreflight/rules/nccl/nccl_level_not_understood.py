"""A distance level is spelt in a way that NCCL drops without a message.

## What it checks
NCCL_P2P_LEVEL and NCCL_NET_GDR_LEVEL against the exact upper-case names of the release, and the
old numbers (a leading digit).

## What the engine does
`ncclGetLevel` compares with `strcmp`. `sys`, `NVLINK`, `SYS ` or `"SYS"` equal no name, so the
variable has no effect and NCCL says nothing. A text that begins with a digit is a number in C's
notation: `08` stops at the 8, reads as 0 and switches P2P off.

## Example
`NCCL_P2P_LEVEL=NVLINK`: NCCL keeps its default.

## Fix
Use the name: LOC, NVL, PIX, PXB, PHB or SYS.

## Fix safety
Safe where only case, blanks or quotes differ; otherwise only you know what was meant.

## How sure
Proven: compared with NCCL's own parser of nine releases.

## References
NVIDIA/nccl `src/graph/paths.cc:ncclGetLevel`.
"""

from __future__ import annotations

from collections.abc import Iterator

from specpreflight.models.finding import Finding, Outcome, Remedy
from specpreflight.models.launch import Launch
from specpreflight.models.nccl import NcclReading, NcclVariable, reading_of
from specpreflight.models.resolved import Resolved
from specpreflight.rules.nccl.wording import set_to, shown
from specpreflight.rules.rule import Rule

_NAMES = ("LOC", "NVL", "NVB", "C2C", "PIX", "PXB", "P2C", "PXN", "PHB", "SYS")
_MEANT = {"NVLINK": "NVL", "NODE": "PHB", "SYSTEM": "SYS", "PCI": "PIX", "PCIE": "PXB"}


def check(launch: Launch, resolved: Resolved) -> Iterator[Finding]:
    """Report each level that NCCL drops or reads as something else."""
    reading = reading_of(launch)
    if reading is None:
        return
    for name in ("NCCL_P2P_LEVEL", "NCCL_NET_GDR_LEVEL"):
        variable = reading.in_force(name)
        if variable is None or not variable.value:
            continue
        if variable.understood.text == "default":
            yield _dropped(variable, reading)
        elif variable.understood.rest:
            yield _half_read(variable, reading)


def _dropped(variable: NcclVariable, reading: NcclReading) -> Finding:
    name = (variable.value or "").strip("\"' \t\r\n").upper()
    meant = _MEANT.get(name, name)
    remedies: tuple[Remedy, ...] = ()
    if meant in _NAMES:
        remedies = (set_to(variable.name, meant, safe=meant == name),)
    return Finding(
        RULE.name,
        Outcome.DEGRADES,
        f"{variable.name}=`{shown(variable.value)}` has no effect; levels are exact, as in `SYS`",
        detail=f"NCCL {reading.release} keeps its own level and prints nothing about it.",
        values=(variable.as_value(),),
        remedies=remedies,
    )


def _half_read(variable: NcclVariable, reading: NcclReading) -> Finding:
    off = ", which switches P2P off" if variable.understood.text == "LOC" else ""
    return Finding(
        RULE.name,
        Outcome.DEGRADES,
        f"{variable.name}=`{shown(variable.value)}` is read as {variable.understood.text}{off}",
        detail=f"NCCL {reading.release} reads a leading digit as the numbering of before 2.4 and "
        f"stops at `{shown(variable.understood.rest)}`.",
        values=(variable.as_value(),),
    )


RULE = Rule(
    name="nccl-level-not-understood",
    summary="a distance level is spelt in a way that NCCL drops without a message",
    since="0.1.0",
    engines=("sglang", "vllm"),
    check=check,
)
