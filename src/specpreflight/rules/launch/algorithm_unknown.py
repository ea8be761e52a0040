"""A speculative algorithm that this release does not have.

## What it checks
`--speculative-algorithm` against the algorithms of the release, and against the device where an
algorithm runs on some only.

## What the engine does
Up to 0.5.11 argparse refuses (`invalid choice`), and case counts. Later releases upper-case the
name and raise `Unknown speculative algorithm name`. The message names the algorithms there are.

## Example
`--speculative-algorithm DFLASH` on 0.5.9.

## Fix
Choose one of the release's algorithms, or a release that has this one.

## Fix safety
Nothing is edited.

## How sure
Proven: the engine's own code at this release.

## References
SGLang `srt/speculative/spec_info.py:SpeculativeAlgorithm`.
"""

from __future__ import annotations

from specpreflight.models.finding import Remedy
from specpreflight.rules.rule import rule_of_events

RULE = rule_of_events(
    name="algorithm-unknown",
    summary="a speculative algorithm that this release does not have",
    since="0.1.0",
    topics=("arguments.unknown-algorithm", "arguments.algorithm-device"),
    remedies={
        "arguments.unknown-algorithm": (Remedy.flag("choose an algorithm that this release has"),),
    },
)
