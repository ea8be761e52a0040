"""Two files of a checkpoint whose names differ only in upper and lower case.

## What it checks
The names in the directories of target and draft.

## What the engine does
On Linux it reads the one it names. A copy over a file system that ignores case (macOS, Windows,
some network mounts) keeps one of the two, and it may be the other.

## Example
`config.json` beside `Config.json`.

## Fix
Remove the one that is not read.

## Fix safety
Nothing is removed here.

## How sure
Inferred: it matters only when the checkpoint is copied.

## References
The directory's names.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from specpreflight.models.finding import Confidence, Finding, Origin, Outcome, Remedy, Value
from specpreflight.models.launch import Launch
from specpreflight.models.resolved import Resolved
from specpreflight.rules.rule import Rule


def check(launch: Launch, resolved: Resolved) -> Iterator[Finding]:
    """Group the names by their lower-case form."""
    for checkpoint in (launch.target, launch.draft):
        if checkpoint is None:
            continue
        groups: defaultdict[str, list[str]] = defaultdict(list)
        for name in checkpoint.files:
            groups[name.lower()].append(name)
        for names in groups.values():
            if len(names) < 2:
                continue
            folder = checkpoint.given.rstrip("/")
            yield Finding(
                RULE.name,
                Outcome.STARTS,
                f"{names[0][:32]} and {names[1][:32]} of the {checkpoint.role} differ in case only",
                confidence=Confidence.INFERRED,
                values=tuple(
                    Value("name", name, Origin("file", path=f"{folder}/{name}")) for name in names
                ),
                remedies=(Remedy("remove the one that is not read", "manual", "placeholder"),),
            )


RULE = Rule(
    name="names-differ-in-case",
    summary="two files of a checkpoint whose names differ only in upper and lower case",
    since="0.1.0",
    engines=("sglang", "vllm"),
    check=check,
)
