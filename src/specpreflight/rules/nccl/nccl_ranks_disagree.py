"""Nodes have different values of a variable that must be the same everywhere.

## What it checks
The snapshots of several nodes (`env compare`): variables that NCCL never exchanges between ranks
and that choose kernels, buffers, channels or transports.

## What the engine does
Each rank reads its own environment and compares nothing. Ranks that chose differently launch
different kernels for the same collective: they hang, or read each other's memory wrongly.

## Example
NCCL_PROTO=LL on the first node, unset on the second.

## Fix
Set the same value on all nodes, or on none.

## Fix safety
Nothing is written: which value is right is yours to say.

## How sure
Read from NCCL's source for 24 variables, inferred for the others; the finding says which.

## References
NVIDIA/nccl `src/init.cc:initTransportsRank` (what is exchanged), `src/graph/connect.cc`.
"""

from __future__ import annotations

from collections.abc import Iterator

from specpreflight.models.finding import Finding, Origin, Outcome, Stage, Value
from specpreflight.models.launch import Launch
from specpreflight.models.nccl import Disagreement
from specpreflight.models.resolved import Resolved
from specpreflight.rules.nccl.wording import shown
from specpreflight.rules.rule import Rule


def check(launch: Launch, resolved: Resolved) -> Iterator[Finding]:
    """Report each variable on which the nodes disagree."""
    disagreements: tuple[Disagreement, ...] = launch.facts.get("nccl_disagreements", ())
    for found in disagreements:
        first, second = found.groups[:2]
        yield Finding(
            RULE.name,
            Outcome.HANGS,
            f"{found.name} is {_is(first[0])} on {_nodes(first[1])}, {_is(second[0])} on "
            f"{_nodes(second[1])}"[:100],
            stage=Stage.WARMUP,
            confidence=found.confidence,
            detail="; ".join(f"{_is(value)}: {', '.join(nodes)}" for value, nodes in found.groups),
            values=tuple(
                Value(node, value, Origin("environment", name=node))
                for value, nodes in found.groups
                for node in nodes
            ),
        )


def _is(value: str | None) -> str:
    return "unset" if value is None else f"`{shown(value)}`"


def _nodes(nodes: tuple[str, ...]) -> str:
    return nodes[0][:20] if len(nodes) == 1 else f"{len(nodes)} nodes"


RULE = Rule(
    name="nccl-ranks-disagree",
    summary="nodes have different values of a variable that must be the same everywhere",
    since="0.1.0",
    engines=("sglang", "vllm"),
    check=check,
)
