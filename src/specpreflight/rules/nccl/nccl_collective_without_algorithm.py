"""NCCL_ALGO and NCCL_PROTO leave a collective with nothing to run.

## What it checks
For each collective, the algorithms that both variables leave and that exist for it: Ring for all
five, Tree, CollNet and NVLSTree for AllReduce, NVLS for AllReduce, AllGather and ReduceScatter,
PAT for AllGather and ReduceScatter; NVLS, NVLSTree, PAT and CollNet only with the protocol Simple;
NVLSTree not on one node; NVLS and CollNet only where the machine has them.

## What the engine does
From NCCL 2.24 on (and up to 2.6) the first call of such a collective returns an error. From 2.7
to 2.18 Ring stays for all but AllReduce, from 2.19 to 2.23 NCCL falls back by itself.

## Example
`NCCL_ALGO=Tree`: AllReduce runs, the first Broadcast or AllGather fails. NVIDIA/nccl#317.

## Fix
Name Ring too and limit only AllReduce: `NCCL_ALGO=ring;allreduce:tree`.

## Fix safety
Safe: the other collectives get the algorithm they have by default.

## How sure
Proven for the parsed sets; which collective an engine calls first is inferred.

## References
NVIDIA/nccl `src/graph/tuning.cc:ncclTopoTuneModel`, `src/enqueue.cc:topoGetAlgoInfo`;
NVIDIA/nccl#317, #653, #1304; vllm-project/vllm#58179.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from specpreflight.models.finding import Finding, Outcome, Stage
from specpreflight.models.launch import Hardware, Launch
from specpreflight.models.nccl import NcclReading, Release, reading_of
from specpreflight.models.resolved import Resolved
from specpreflight.rules.nccl.wording import set_to, shown, unset
from specpreflight.rules.rule import Rule

_STRICT = Release(2, 24, 3)
_RING_STAYS = Release(2, 7, 3)
_EXIST = {
    "Broadcast": {"Ring"},
    "Reduce": {"Ring"},
    "AllGather": {"Ring", "NVLS", "PAT", "CollNetDirect"},
    "ReduceScatter": {"Ring", "NVLS", "PAT", "CollNetDirect"},
    "AllReduce": {"Ring", "Tree", "NVLS", "NVLSTree", "CollNet", "CollNetDirect", "CollNetChain"},
}
_ONLY_SIMPLE = {"NVLS", "NVLSTree", "PAT", "CollNet", "CollNetDirect", "CollNetChain"}
#: Calls of a server while it starts, in this order.
_CALLED = ("AllReduce", "Broadcast", "AllGather", "ReduceScatter", "Reduce")


def check(launch: Launch, resolved: Resolved) -> Iterator[Finding]:
    """Report the first collective that has no algorithm."""
    reading = reading_of(launch)
    algorithms = reading and reading.in_force("NCCL_ALGO")
    if reading is None or not algorithms or algorithms.understood.effect == "fatal":
        return
    if _RING_STAYS <= reading.release < _STRICT:
        return
    protocols = reading.in_force("NCCL_PROTO")
    empty = [
        collective for collective in _CALLED if not _left(collective, reading, launch.hardware)
    ]
    if not empty:
        return
    values = (algorithms.as_value(), *((protocols.as_value(),) if protocols else ()))
    yield Finding(
        RULE.name,
        Outcome.CRASHES,
        f"NCCL_ALGO=`{shown(algorithms.value)}` leaves no algorithm for {_list(empty)}",
        stage=Stage.WARMUP,
        detail="Engines use these collectives while they start; NCCL "
        f"{reading.release} returns an error at the first call.",
        engine_message=_message(reading, empty[0]),
        values=values,
        remedies=(
            (set_to("NCCL_ALGO", "ring;allreduce:tree"), unset("NCCL_ALGO"))
            if "Tree" in algorithms.understood.sets.get("AllReduce", ())
            and reading.release >= _STRICT
            else (unset("NCCL_ALGO"),)
        ),
    )


def _left(collective: str, reading: NcclReading, hardware: Hardware) -> set[str]:
    algorithms = reading.in_force("NCCL_ALGO")
    protocols = reading.in_force("NCCL_PROTO")
    named = set(() if algorithms is None else algorithms.understood.sets.get(collective, ()))
    left = named & _EXIST[collective]
    if protocols is not None and protocols.understood.sets:
        allowed = protocols.understood.sets.get(collective, ())
        if "Simple" not in allowed:
            left -= _ONLY_SIMPLE
    if reading.effective("NCCL_COLLNET_ENABLE") != "1":
        left -= {"CollNet", "CollNetDirect", "CollNetChain"}
    if hardware.nvlink is False:
        left -= {"NVLS", "NVLSTree"}
    if hardware.nodes == 1:
        left -= {"NVLSTree"}
    return left


def _list(names: Sequence[str]) -> str:
    return (
        "any collective"
        if len(names) == len(_CALLED)
        else ", ".join(names[:3]) + (" and others" if len(names) > 3 else "")
    )


def _message(reading: NcclReading, collective: str) -> str:
    if reading.release < _STRICT:
        return "Error : no algorithm/protocol available"
    text = reading.effective("NCCL_ALGO")
    lead = "N" if reading.release >= Release(2, 30, 3) else "Error : n"
    return f"{lead}o algorithm/protocol available for function {collective} with datatype … " \
        f"NCCL_ALGO was set to {text}."  # fmt: skip


RULE = Rule(
    name="nccl-collective-without-algorithm",
    summary="NCCL_ALGO and NCCL_PROTO leave a collective with nothing to run",
    since="0.1.0",
    engines=("sglang", "vllm"),
    check=check,
)
