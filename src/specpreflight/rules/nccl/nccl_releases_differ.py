"""Nodes would run different releases of NCCL.

## What it checks
The snapshots of several nodes (`env compare`): the NCCL release that each found installed or was
told. Releases that are only assumed are not compared.

## What the engine does
When a communicator is made, every rank sends its release to the others. Since 2.23 a rank that
sees another one stops with ncclInvalidUsage; before, ranks of different releases hang or crash
where their structures differ.

## Example
nvidia-nccl-cu12 2.27.5 in one image, 2.28.9 in the image of the second node.

## Fix
Run the same image, or install the same wheel, on all nodes.

## Fix safety
Nothing is written.

## How sure
Read from NCCL's source for 2.23 and later, inferred for older ones.

## References
NVIDIA/nccl `src/init.cc:initTransportsRank`, "Mismatched NCCL version detected".
"""

from __future__ import annotations

from collections.abc import Iterator

from specpreflight.models.finding import Confidence, Finding, Origin, Outcome, Stage, Value
from specpreflight.models.launch import Launch
from specpreflight.models.resolved import Resolved
from specpreflight.rules.rule import Rule

_CHECKED_SINCE = (2, 23)


def check(launch: Launch, resolved: Resolved) -> Iterator[Finding]:
    """Report that nodes have different releases, naming each."""
    groups: tuple[tuple[str, tuple[str, ...]], ...] = launch.facts.get("nccl_releases", ())
    if len(groups) < 2:
        return
    releases = [release for release, _ in groups]
    checks = all(_parts(release) >= _CHECKED_SINCE for release in releases)
    yield Finding(
        RULE.name,
        Outcome.CRASHES,
        f"nodes run different releases of NCCL: {', '.join(releases)}"[:100],
        stage=Stage.WARMUP,
        confidence=Confidence.PROVEN if checks else Confidence.INFERRED,
        detail="; ".join(f"{release}: {', '.join(nodes)}" for release, nodes in groups),
        values=tuple(
            Value(node, release, Origin("environment", name=node))
            for release, nodes in groups
            for node in nodes
        ),
        engine_message="Mismatched NCCL version detected" if checks else "",
    )


def _parts(release: str) -> tuple[int, ...]:
    return tuple(int(part) for part in release.split(".")[:2] if part.isdigit())


RULE = Rule(
    name="nccl-releases-differ",
    summary="nodes would run different releases of NCCL",
    since="0.1.0",
    engines=("sglang", "vllm"),
    check=check,
)
