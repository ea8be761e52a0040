"""NCCL_PROTO switches LL128 on where NCCL would not.

## What it checks
Whether NCCL_PROTO names LL128, or starts with `^` and does not name it: both turn the protocol from
"where it is safe" to "always". Reported where the GPUs are known to lack NVLink, or not known.

## What the engine does
LL128 relies on 128-byte stores arriving whole, which NVLink guarantees. NCCL's own table leaves it
off beyond NVLink; a forced protocol skips that table, and sums come out wrong without any error.

## Example
`NCCL_PROTO=^LL` on a PCIe box: it means "LL128 and Simple, both forced".

## Fix
`NCCL_PROTO=^LL128`, or unset it.

## Fix safety
Safe: `^LL128` keeps the other two protocols.

## How sure
Proven that it is forced; the corruption is documented by NVIDIA and was reported many times.

## References
NCCL user guide, NCCL_PROTO; NVIDIA/nccl `src/graph/tuning.cc`; NVIDIA/nccl#281, #740, #831, #1081,
#1261, #2053.
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
    """Report a forced LL128 unless all GPUs are known to have NVLink."""
    reading = reading_of(launch)
    protocols = reading and reading.in_force("NCCL_PROTO")
    if not protocols or protocols.understood.effect == "fatal":
        return
    forced = [
        collective for collective, words in protocols.understood.sets.items() if "LL128" in words
    ]
    if not forced or launch.hardware.nvlink is True:
        return
    without = launch.hardware.nvlink is False
    yield Finding(
        RULE.name,
        Outcome.WRONG_OUTPUT,
        f"NCCL_PROTO=`{shown(protocols.value)}` forces LL128, "
        + ("and these GPUs have no NVLink" if without else "which is safe only over NVLink"),
        stage=Stage.SERVING,
        confidence=Confidence.PROVEN if without else Confidence.INFERRED,
        severity=None if without else Severity.WARNING,
        detail="Over PCIe a 128-byte store may arrive in parts: results are then wrong, silently.",
        values=(protocols.as_value(),),
        remedies=(set_to("NCCL_PROTO", "^LL128"), unset("NCCL_PROTO")),
    )


RULE = Rule(
    name="nccl-ll128-forced",
    summary="NCCL_PROTO switches LL128 on where NCCL would not",
    since="0.1.0",
    engines=("sglang", "vllm"),
    check=check,
)
