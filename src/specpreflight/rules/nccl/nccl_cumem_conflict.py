"""NCCL_CUMEM_ENABLE works against another setting.

## What it checks
NCCL_CUMEM_ENABLE=0 with what needs cuMem buffers: NCCL_MNNVL_ENABLE=1, SGLang's
`--moe-a2a-backend deepep_v2`, several nodes of an NVLink fabric. NCCL_CUMEM_ENABLE=1 on releases
that pay for it with memory.

## What the engine does
Multi-node NVLink and symmetric windows exist only with cuMem: without it NCCL goes over the network
and deepep_v2 cannot register its buffer. From 2.19 to 2.22.2 cuMem costs 1 to 2 GiB for each GPU
when CUDA graphs are captured, enough to run out of memory.

## Example
`NCCL_CUMEM_ENABLE=0`, kept from an old recipe, on GB200.

## Fix
Unset the variable.

## Fix safety
Safe: the engine fills the gap with what its flags need.

## How sure
Observed in public reports; that deepep_v2 fails is inferred from the engine's comment.

## References
vllm-project/vllm#5091, #16992; NVIDIA/nccl#1234; SGLang `srt/arg_groups/moe_hook.py`.
"""

from __future__ import annotations

from collections.abc import Iterator

from packaging.version import Version

from specpreflight.models.finding import Confidence, Finding, Outcome, Severity, Stage
from specpreflight.models.launch import Launch
from specpreflight.models.nccl import NcclVariable, Release, reading_of
from specpreflight.models.resolved import Resolved
from specpreflight.rules.nccl.wording import unset
from specpreflight.rules.rule import Rule

_MEMORY_COST = (Release(2, 19, 1), Release(2, 22, 3))
#: vLLM releases that say themselves what cuMem may cost.
_VLLM_WARNS = (Version("0.9.1"), Version("0.10.2"))
_VLLM_MESSAGE = (
    "NCCL_CUMEM_ENABLE is set to 1, skipping override. This may increase memory overhead with "
    "cudagraph+allreduce: https://github.com/NVIDIA/nccl/issues/1234"
)


def check(launch: Launch, resolved: Resolved) -> Iterator[Finding]:
    """Report what a cuMem setting breaks or costs."""
    reading = reading_of(launch)
    cumem = reading and reading.in_force("NCCL_CUMEM_ENABLE")
    if reading is None or not cumem:
        return
    first, mended = _MEMORY_COST
    warned = _vllm_warns(launch)
    if cumem.understood.number == 1 and (first <= reading.release < mended or warned):
        yield Finding(
            RULE.name,
            Outcome.CRASHES,
            f"NCCL_CUMEM_ENABLE=1 costs 1-2 GiB a GPU with CUDA graphs on NCCL {reading.release}",
            stage=Stage.WARMUP,
            confidence=Confidence.OBSERVED,
            severity=Severity.WARNING,
            detail="Launches near their memory limit run out of it while graphs are captured; "
            "NCCL 2.22.3 mended it.",
            engine_message=_VLLM_MESSAGE if warned else None,
            values=(cumem.as_value(),),
            remedies=(unset("NCCL_CUMEM_ENABLE"),),
        )
    if cumem.understood.number != 0:
        return
    mnnvl = reading.in_force("NCCL_MNNVL_ENABLE")
    if mnnvl is not None and mnnvl.understood.number == 1:
        yield _blocks(cumem, "NCCL_MNNVL_ENABLE=1", Outcome.CRASHES, (mnnvl,))
    elif launch.flags.get("moe-a2a-backend") == "deepep_v2":
        yield _blocks(cumem, "--moe-a2a-backend deepep_v2", Outcome.CRASHES, ())
    elif (launch.hardware.profile or "").startswith("gb") and _nodes(launch) > 1:
        yield _blocks(cumem, "NVLink between nodes", Outcome.DEGRADES, ())


def _vllm_warns(launch: Launch) -> bool:
    if launch.engine.name != "vllm":
        return False
    first, last = _VLLM_WARNS
    return first <= Version(launch.engine.version) < last


def _blocks(
    cumem: NcclVariable, what: str, outcome: Outcome, others: tuple[NcclVariable, ...]
) -> Finding:
    return Finding(
        RULE.name,
        outcome,
        f"NCCL_CUMEM_ENABLE=0 takes away what {what} needs",
        stage=Stage.WEIGHTS if outcome is Outcome.CRASHES else Stage.SERVING,
        confidence=Confidence.OBSERVED if outcome is Outcome.DEGRADES else Confidence.INFERRED,
        detail="Fabric handles and symmetric windows exist only for cuMem buffers.",
        values=(cumem.as_value(), *(other.as_value() for other in others)),
        remedies=(unset("NCCL_CUMEM_ENABLE"),),
    )


def _nodes(launch: Launch) -> int:
    text = str(launch.flags.get("nnodes", launch.hardware.nodes or 1))
    return int(text) if text.isdigit() else 1


RULE = Rule(
    name="nccl-cumem-conflict",
    summary="NCCL_CUMEM_ENABLE works against another setting",
    since="0.1.0",
    engines=("sglang", "vllm"),
    check=check,
)
