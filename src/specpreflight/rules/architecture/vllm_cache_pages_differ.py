"""A release up to 0.10 cannot cache target and draft side by side.

## What it checks
Key-value heads and head size of target and draft, after tensor parallelism.

## What the engine does
Up to 0.10.2 the cache has pages of one size for all layers; where a token of the draft takes
another size, `get_kv_cache_config` raises a bare NotImplementedError after both models are loaded.
From 0.11 on layers of one kind may differ.

## Example
A draft with 32 key-value heads for a target with 8 of the same head size, on 0.10.2.

## Fix
Use a later release.

## Fix safety
Nothing is edited.

## How sure
Proven: the engine's own code at this release.

## References
vLLM `v1/core/kv_cache_utils.py:get_kv_cache_config`.
"""

from __future__ import annotations

from specpreflight.models.finding import Remedy
from specpreflight.rules.rule import rule_of_events

RULE = rule_of_events(
    name="vllm-cache-pages-differ",
    summary="a release up to 0.10 cannot cache target and draft side by side",
    since="0.1.0",
    engines=("vllm",),
    topics=("architecture.cache-pages-differ",),
    remedies={
        "architecture.cache-pages-differ": (
            Remedy.manual("use vLLM 0.11 or later, or a draft with the target's heads"),
        )
    },
)
