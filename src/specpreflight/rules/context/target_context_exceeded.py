"""`--context-length` is above the length that the target's config gives.

## What it checks
`--context-length` against the length derived from the target's config.

## What the engine does
Up to 0.4.10.post2 a warning. From 0.5.1 on a ValueError while the arguments are handled, unless
`SGLANG_ALLOW_OVERWRITE_LONGER_CONTEXT_LEN` is on.

## Example
`--context-length 262144` for a target whose `max_position_embeddings` is 131072.

## Fix
Leave the flag out, or scale the target's RoPE as its model card says. The variable forces it: the
model then runs on positions that it was not trained on.

## Fix safety
Nothing is edited.

## How sure
Proven: the engine's own code at this release.

## References
SGLang `srt/configs/model_config.py:_derive_context_length`.
"""

from __future__ import annotations

from specpreflight.models.finding import Remedy
from specpreflight.rules.rule import rule_of_events

RULE = rule_of_events(
    name="target-context-exceeded",
    summary="`--context-length` is above the length that the target's config gives",
    since="0.1.0",
    topics=("context.target-exceeded",),
    remedies={
        "context.target-exceeded": (
            Remedy.flag("leave --context-length out, or lower it to the target's own length"),
            Remedy(
                "or force it, beyond what the target was trained on",
                "environment",
                "unsafe",
                environment={"SGLANG_ALLOW_OVERWRITE_LONGER_CONTEXT_LEN": "1"},
            ),
        ),
    },
)
