"""NCCL_P2P_DISABLE says one thing and other settings another.

## What it checks
NCCL_P2P_DISABLE=1 together with NCCL_P2P_LEVEL; NCCL_P2P_DISABLE with a number other than 0 and 1.

## What the engine does
Only the number 1 switches P2P off, and then the level is never read. The engines' own P2P users
(custom all-reduce, symmetric memory) do not look at the variable at all.

## Example
`NCCL_P2P_DISABLE=1 NCCL_P2P_LEVEL=NVL`, as in NVIDIA/nccl#1608, which hung until the interface was
chosen by hand.

## Fix
Drop one of the two. Where P2P is broken on the host, add `--disable-custom-all-reduce`.

## Fix safety
Nothing is written: which of the two was meant is yours to say.

## How sure
Proven that the level is not read; the hang was observed in one public report.

## References
NVIDIA/nccl `src/graph/paths.cc:ncclGetLevel`; NVIDIA/nccl#1608; vllm-project/vllm#51513.
"""

from __future__ import annotations

from collections.abc import Iterator

from specpreflight.models.finding import Confidence, Finding, Outcome, Severity, Stage
from specpreflight.models.launch import Launch
from specpreflight.models.nccl import reading_of
from specpreflight.models.resolved import Resolved
from specpreflight.rules.nccl.wording import set_to, shown, unset
from specpreflight.rules.rule import Rule


def check(launch: Launch, resolved: Resolved) -> Iterator[Finding]:
    """Report a level that P2P_DISABLE makes void, and a P2P_DISABLE that is not 1."""
    reading = reading_of(launch)
    disable = reading and reading.in_force("NCCL_P2P_DISABLE")
    if reading is None or not disable:
        return
    level = reading.in_force("NCCL_P2P_LEVEL")
    if disable.understood.text == "LOC" and level is not None:
        yield Finding(
            RULE.name,
            Outcome.HANGS,
            f"NCCL_P2P_LEVEL=`{shown(level.value)}` is not read while NCCL_P2P_DISABLE is 1",
            stage=Stage.SERVING,
            confidence=Confidence.OBSERVED,
            severity=Severity.WARNING,
            detail="P2P is off whatever the level says. A public report with this pair hung in "
            "its collectives: settings that contradict each other were tried one after another.",
            values=(disable.as_value(), level.as_value()),
            remedies=(unset("NCCL_P2P_LEVEL"), unset("NCCL_P2P_DISABLE")),
        )
    elif disable.understood.number not in (0, 1) and disable.understood.text == "default":
        yield Finding(
            RULE.name,
            Outcome.DEGRADES,
            f"NCCL_P2P_DISABLE=`{shown(disable.value)}` leaves P2P on; only 1 switches it off",
            values=(disable.as_value(),),
            remedies=(set_to("NCCL_P2P_DISABLE", "1", safe=False), unset("NCCL_P2P_DISABLE")),
        )


RULE = Rule(
    name="nccl-p2p-settings-contradict",
    summary="NCCL_P2P_DISABLE says one thing and other settings another",
    since="0.1.0",
    engines=("sglang", "vllm"),
    check=check,
)
