"""A KV cache setting that does not go with speculation, or with itself.

## What it checks
Page size, radix cache, chunked prefill, mamba cache, unified memory and disaggregation cache flags.

## What the engine does
It refuses the combination at its arguments, before anything is loaded.

## Example
`--page-size 3 --chunked-prefill-size 8192`: `chunked_prefill_size must be divisible by page_size`.

## Fix
Change one of the two flags that the finding names.

## Fix safety
Nothing is edited.

## How sure
Proven: the engine's own code at this release.

## References
SGLang `server_args.py:_handle_cache_compatibility`, `check_server_args`;
`arg_groups/kv_cache_hook.py`.
"""

from __future__ import annotations

from specpreflight.rules.rule import rule_of_events

RULE = rule_of_events(
    name="cache-setting-unfit",
    summary="a KV cache setting that does not go with speculation, or with itself",
    since="0.1.0",
    topics=("cache.", "memory."),
    remedies={},
)
