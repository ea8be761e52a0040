"""The copies of a checkpoint on several hosts do not have the same config.json.

## What it checks
With `--host A --host B` or `ssh://{a,b}/path`: the values of the `config.json` of target and draft
on each host against those on the first host.

## What the engine does
Every node reads its own copy. Nodes that disagree about a shape or a length build different models:
the launch stops in a collective, or one node refuses what the others accept.

## Example
The draft was fixed on one node, and the other nodes still have 131072.

## Fix
Make the copies the same; `--fix` writes the same fix on every host.

## Fix safety
Nothing is copied here: which copy is right, the files do not say.

## How sure
The difference is proven; what comes of it depends on the value, so it is inferred.

## References
The files themselves.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from specpreflight.documents.pointer import join_pointer
from specpreflight.models.checkpoint import Checkpoint
from specpreflight.models.finding import Confidence, Finding, Outcome, Remedy
from specpreflight.models.launch import Launch
from specpreflight.models.resolved import Resolved
from specpreflight.rules.rule import Rule


def check(launch: Launch, resolved: Resolved) -> Iterator[Finding]:
    """Compare this launch's checkpoints with the copies on the first host."""
    copies = launch.facts.get("copies", {})
    for checkpoint in (launch.target, launch.draft):
        others: tuple[Checkpoint, ...] = copies.get(checkpoint.role, ()) if checkpoint else ()
        if checkpoint is None or not others or checkpoint.given == others[0].given:
            continue
        if checkpoint.problem is None and others[0].problem is None:
            yield from _compare(checkpoint, others[0])


def _compare(checkpoint: Checkpoint, first: Checkpoint) -> Iterator[Finding]:
    for pointer in differences(first.config.root, checkpoint.config.root):
        yield Finding(
            RULE.name,
            Outcome.DEGRADES,
            f"`{pointer[1:60]}` of the {checkpoint.role} is not the same on every host",
            confidence=Confidence.INFERRED,
            values=(
                first.value("first host", pointer),
                checkpoint.value("this host", pointer),
            ),
            remedies=(Remedy("make the copies the same", "manual", "placeholder"),),
        )


def differences(one: Any, other: Any, parts: tuple[str, ...] = ()) -> Iterator[str]:
    """Yield the pointers of the values that differ, down to the keys that only one of them has."""
    if isinstance(one, dict) and isinstance(other, dict):
        for key in dict.fromkeys((*one, *other)):
            if key in one and key in other:
                yield from differences(one[key], other[key], (*parts, key))
            else:
                yield join_pointer(*parts, key)
    elif one != other or isinstance(one, bool) is not isinstance(other, bool):
        yield join_pointer(*parts)


RULE = Rule(
    name="copies-differ",
    summary="the copies of a checkpoint on several hosts do not have the same config.json",
    since="0.1.0",
    engines=("sglang", "vllm"),
    check=check,
)
