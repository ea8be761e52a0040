"""Draft tokens do not fit behind a request that reaches the context length.

## What it checks
Up to SGLang 0.4.10.post2: how many slots a draft needs (draft tokens, or top-k times steps) against
the eight that are left in a request's row of the pool, where `--context-length` or
`--allow-auto-truncate` lets requests reach the limit.

## What the engine does
A row of `req_to_token` has `context_len + 4` entries, and a request runs until `context_len - 4` of
its tokens are in the cache. Its drafts are written behind them, past the end of the row into the
next request's. From 0.5.1 on a row is longer by the draft tokens.

## Example
`--context-length 2048 --speculative-num-draft-tokens 64` on 0.4.10.post2.

## Fix
Use 0.5.1 or later, or draft at most 8 tokens.

## Fix safety
Nothing is edited.

## How sure
That the slots lie outside the row is proven; that this ends in an illegal memory access is
observed. Without a limit in the launch the finding is left out, since requests rarely fill a
model's whole context.

## References
SGLang `srt/model_executor/model_runner.py:ModelRunner.init_memory_pool`,
`srt/managers/tp_worker.py` (`max_req_len`); sglang#9388.
"""

from __future__ import annotations

from specpreflight.models.finding import Remedy
from specpreflight.rules.rule import rule_of_events

RULE = rule_of_events(
    name="no-room-for-drafts",
    summary="draft tokens do not fit behind a request that reaches the context length",
    since="0.1.0",
    topics=("serving.rows-too-short",),
    remedies={
        "serving.rows-too-short": (
            Remedy.manual("use SGLang 0.5.1 or later"),
            Remedy.flag("or draft less: at most 8 draft tokens, and 8 for top-k times steps"),
        ),
    },
)
