"""A key stands twice in a config.json, and only the last one counts.

## What it checks
Every object of the `config.json` of target and draft, at any depth.

## What the engine does
Python's `json` takes the last of two keys with the same name and says nothing. The first one looks
as if it counted, and other tools (jq, a viewer, a script) may show that one.

## Example
A conversion script wrote `max_position_embeddings` at the end of a file that had it at the top.

## Fix
Remove the key that does not count.

## Fix safety
Nothing is removed here: which of the two was meant, the file does not say. A fix of the key edits
the one that counts.

## How sure
Proven: Python's `json`, which transformers reads with.

## References
transformers `configuration_utils.py:_dict_from_json_file`.
"""

from __future__ import annotations

import json
from collections.abc import Iterator

from specpreflight.documents import Hidden
from specpreflight.models.checkpoint import Checkpoint
from specpreflight.models.finding import Finding, Origin, Outcome, Remedy, Value
from specpreflight.models.launch import Launch
from specpreflight.models.resolved import Resolved
from specpreflight.rules.rule import Rule


def check(launch: Launch, resolved: Resolved) -> Iterator[Finding]:
    """Report each key that a later one hides."""
    for checkpoint in (launch.target, launch.draft):
        if checkpoint is None:
            continue
        for hidden in checkpoint.config.duplicates:
            yield _finding(checkpoint, hidden)


def _finding(checkpoint: Checkpoint, hidden: Hidden) -> Finding:
    key = hidden.pointer.rpartition("/")[2]
    taken = checkpoint.config.get(hidden.pointer)
    place = hidden.place
    origin = Origin(
        "file",
        path=checkpoint.config.name,
        pointer=hidden.pointer,
        line=place.line,
        column=place.column,
        end_column=place.end_column,
    )
    return Finding(
        RULE.name,
        Outcome.STARTS,
        f"`{key[:30]}` of the {checkpoint.role} is {_shown(hidden.value)} and again "
        f"{_shown(taken)}, which counts",
        values=(
            Value("does not count", hidden.value, origin),
            checkpoint.value("counts", hidden.pointer),
        ),
        remedies=(Remedy("remove the key that does not count", "manual", "placeholder"),),
    )


def _shown(value: object) -> str:
    text = json.dumps(value)
    return text if len(text) <= 16 else text[:15] + "…"


RULE = Rule(
    name="key-repeated",
    summary="a key stands twice in a config.json, and only the last one counts",
    since="0.1.0",
    engines=("sglang", "vllm"),
    check=check,
)
