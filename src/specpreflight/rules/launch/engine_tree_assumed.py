"""A tree of the engine is not quite the release that it counts as.

## What it checks
For `--engine PATH`: which questions the tree does not answer, and which of the files whose
behaviour is restated by hand are not those of the nearest release.

## What the engine does
Flags, variables, model classes and the code that reads configs are taken from the tree itself. The
rest of the launch is restated release by release: argument handling, workers, attention backends.
Where the tree has the very file that was restated, that is as sure as for the release; of another
text only the nearest release's behaviour is known, and every finding that hangs on it says so and
counts as inferred.

## Example
A checkout of 0.5.9 with a patched `speculative/eagle_worker.py`.

## Fix
None is needed. Read the files that are named where a finding matters.

## Fix safety
Nothing is edited.

## How sure
Proven: the files are compared byte by byte.

## References
`specpreflight engines` lists the releases that are known.
"""

from __future__ import annotations

from collections.abc import Iterator

from specpreflight.models.finding import Finding
from specpreflight.models.launch import Launch
from specpreflight.models.resolved import Resolved
from specpreflight.rules.rule import Rule, report_event

_SHOWN = 8


def check(launch: Launch, resolved: Resolved) -> Iterator[Finding]:
    """Name the files and questions, the first few of each."""
    for order, event in RULE.events(resolved):
        parts = (
            ("Differing files: ", event.facts["files"]),
            ("Without an answer: ", event.facts["unanswered"]),
        )
        detail = " ".join(f"{label}{_some(names)}." for label, names in parts if names)
        yield report_event(RULE, order, event, stage=None, detail=detail)


def _some(names: tuple[str, ...]) -> str:
    more = len(names) - _SHOWN
    return ", ".join(names[:_SHOWN]) + (f" and {more} more" if more > 0 else "")


RULE = Rule(
    name="engine-tree-assumed",
    summary="a tree of the engine is not quite the release that it counts as",
    since="0.1.0",
    topics=("engine.tree-assumed",),
    check=check,
)
