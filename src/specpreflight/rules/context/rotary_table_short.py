"""Requests get longer than the draft's rotary table, which this release does not extend.

## What it checks
A launch that asks for more than the draft's own length (`--context-length`, or
`SGLANG_ALLOW_OVERWRITE_LONGER_CONTEXT_LEN`), on a release that lets the draft through without
changing its `max_position_embeddings`.

## What the engine does
The draft's worker takes the target's context length, but its rotary table keeps the rows of the
draft's config. The kernel that applies it (`apply_rope_with_cos_sin_cache_inplace`) does not check
positions: past the last row it reads whatever lies behind the table. Reported are illegal memory
accesses that take the server down, and drafts that are never accepted. From 0.5.3 on the
engine raises `max_position_embeddings` in memory, so that the table is built for the longer
context.

## Example
A draft of 2048 positions for a target of 8192, started with the variable on 0.5.2.

## Fix
Raise the draft's `max_position_embeddings` in its config, as `draft-context-shorter` offers.

## Fix safety
Nothing is edited by this rule.

## How sure
That the table is too short is proven; what the read behind it does is observed: a crash in
sglang#9388, low acceptance in sglang#6783. Without the variable and without `--context-length` the
finding is left out, since nothing says that requests get that long.

## References
SGLang `srt/layers/rotary_embedding.py:RotaryEmbedding.forward_cuda`,
`srt/configs/model_config.py:_derive_context_length`; sglang#3574, #9388, #6783.
"""

from __future__ import annotations

from specpreflight.models.finding import Remedy
from specpreflight.rules.rule import rule_of_events

RULE = rule_of_events(
    name="rotary-table-short",
    summary="requests get longer than the draft's rotary table, which this release keeps",
    since="0.1.0",
    topics=("serving.rotary-table-short",),
    remedies={
        "serving.rotary-table-short": (
            Remedy.manual("raise `max_position_embeddings` in the draft's config"),
            Remedy.manual("or use SGLang 0.5.3 or later, which extends the table"),
        ),
    },
)
