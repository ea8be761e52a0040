"""A CUDA graph setting of NCCL is forced against what the engine needs.

## What it checks
NCCL_GRAPH_REGISTER other than 0 where SGLang keeps it off, NCCL_GRAPH_MIXING_SUPPORT=0, and
NCCL_GRAPH_STREAM_ORDERING=0 while mixing is on.

## What the engine does
From 0.5.20 on SGLang sets NCCL_GRAPH_REGISTER=0 unless you set it: with registered buffers, graphs
that hold collectives hang under load. Engines capture decode and run prefill eagerly on one
communicator, which is what NCCL_GRAPH_MIXING_SUPPORT is for.

## Example
`NCCL_GRAPH_REGISTER=1` with SGLang 0.5.23 and tensor parallelism.

## Fix
Unset the variable.

## Fix safety
Safe: the engine then decides.

## How sure
Observed by the engine's authors; the mixing hang is inferred from NVIDIA's documentation.

## References
SGLang `srt/arg_groups/parallel_hook.py:_disable_nccl_graph_buffer_registration`;
sgl-project/sglang#38936; NVIDIA/nccl#2389; NCCL user guide, NCCL_GRAPH_MIXING_SUPPORT.
"""

from __future__ import annotations

from collections.abc import Iterator

from specpreflight.models.finding import Confidence, Finding, Outcome, Severity, Stage
from specpreflight.models.launch import Launch
from specpreflight.models.nccl import NcclVariable, reading_of
from specpreflight.models.resolved import Resolved
from specpreflight.rules.nccl.wording import unset
from specpreflight.rules.rule import Rule


def check(launch: Launch, resolved: Resolved) -> Iterator[Finding]:
    """Report forced graph settings."""
    reading = reading_of(launch)
    if reading is None:
        return
    register = reading.in_force("NCCL_GRAPH_REGISTER")
    kept_off = register is not None and register.setting is not None
    if register is not None and kept_off and register.understood.number not in (0, None):
        yield _finding(
            register,
            "NCCL_GRAPH_REGISTER is on, which the engine keeps off: graph replay can hang",
            Confidence.OBSERVED,
        )
    mixing = reading.in_force("NCCL_GRAPH_MIXING_SUPPORT")
    off = mixing is not None and mixing.understood.number == 0
    if mixing is not None and off and mixing.setting is None:
        yield _finding(
            mixing,
            "NCCL_GRAPH_MIXING_SUPPORT=0 forbids eager calls while a graph runs",
            Confidence.INFERRED,
        )
    ordering = reading.in_force("NCCL_GRAPH_STREAM_ORDERING")
    if ordering is not None and ordering.understood.number == 0 and not off:
        yield _finding(
            ordering,
            "NCCL_GRAPH_STREAM_ORDERING=0 is not supported while graph mixing is on",
            Confidence.OBSERVED,
        )


def _finding(variable: NcclVariable, message: str, confidence: Confidence) -> Finding:
    return Finding(
        RULE.name,
        Outcome.HANGS,
        message,
        stage=Stage.SERVING,
        confidence=confidence,
        severity=Severity.WARNING,
        values=(variable.as_value(),),
        remedies=(unset(variable.name),),
    )


RULE = Rule(
    name="nccl-graph-settings",
    summary="a CUDA graph setting of NCCL is forced against what the engine needs",
    since="0.1.0",
    engines=("sglang", "vllm"),
    check=check,
)
