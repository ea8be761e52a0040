"""The verification accepts tokens that the target would not have chosen.

## What it checks
The rejection method of the speculative config.

## What the engine does
`fly` accepts drafted tokens within a window although the target would have chosen others. vLLM says
so with a warning and serves.

## Example
`"rejection_sample_method": "fly"`: `FLy verification is a lossy speculative decoding method and may
degrade model outputs`.

## Fix
Leave the key out to get the target's own distribution.

## Fix safety
Nothing is edited.

## How sure
Proven: the engine's own code at this release, compared with recorded verdicts of it.

## References
vLLM `config/speculative.py:SpeculativeConfig`.
"""

from __future__ import annotations

from specpreflight.models.finding import Remedy
from specpreflight.rules.rule import rule_of_events

RULE = rule_of_events(
    name="vllm-verification-lossy",
    summary="the verification accepts tokens that the target would not have chosen",
    since="0.1.0",
    engines=("vllm",),
    topics=("launch.lossy-verification",),
    remedies={
        "launch.lossy-verification": (
            Remedy.flag("leave `rejection_sample_method` out of the speculative config"),
        ),
    },
)
