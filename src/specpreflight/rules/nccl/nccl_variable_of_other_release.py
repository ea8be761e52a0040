"""A variable belongs to another release of NCCL than the one that will run.

## What it checks
Names that some release of NCCL reads, and this one does not: removed, renamed, or not there yet.

## What the engine does
Nothing: the name is never looked up.

## Example
`NCCL_TREE_THRESHOLD=0`, gone since 2.5; `NCCL_CTA_POLICY=ZERO` on 2.26.

## Fix
Use the name that replaced it, or remove the variable.

## Fix safety
Shown only.

## How sure
Proven: the names of all release tags from 2.3.5 to 2.30.7.

## References
`data/variables.json`, harvested from NVIDIA/nccl's release tags.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from specpreflight.models.finding import Finding, Outcome
from specpreflight.models.launch import Launch
from specpreflight.models.nccl import NcclReading, NcclVariable, reading_of
from specpreflight.models.resolved import Resolved
from specpreflight.rules.nccl.wording import unset
from specpreflight.rules.rule import Rule


def check(launch: Launch, resolved: Resolved) -> Iterator[Finding]:
    """Report each known name that this release does not read."""
    reading = reading_of(launch)
    if reading is None:
        return
    for variable in reading.variables:
        facts = variable.facts
        if facts is None or facts.owner != "libnccl" or variable.understood.text != "ignored":
            continue
        if variable.understood.kind == "unknown":
            yield _finding(variable, reading)


def _finding(variable: NcclVariable, reading: NcclReading) -> Finding:
    facts = variable.facts
    assert facts is not None
    if facts.until is not None and reading.release >= facts.until:
        when = f"gone since {facts.until}"
    elif facts.since is not None and reading.release < facts.since:
        when = f"known from {facts.since} on"
    else:
        when = "not read by it"
    replacement = re.search(r"-> (NCCL_\w+)", facts.deprecated)
    instead = f"; its successor is {replacement[1]}" if replacement else ""
    return Finding(
        RULE.name,
        Outcome.DEGRADES,
        f"NCCL {reading.release} does not read {variable.name}: {when}",
        detail=f"{facts.meaning or facts.deprecated}{instead}".strip(),
        values=(variable.as_value(),),
        remedies=(unset(variable.name),),
    )


RULE = Rule(
    name="nccl-variable-of-other-release",
    summary="a variable belongs to another release of NCCL than the one that will run",
    since="0.1.0",
    engines=("sglang", "vllm"),
    check=check,
)
