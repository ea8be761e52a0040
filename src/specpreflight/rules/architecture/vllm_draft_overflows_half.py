"""The draft leaves the range of float16.

## What it checks
`--dtype`, or the dtype of the target's config, for drafts whose states are known to overflow in
float16 (`DFlash2DraftModel`, `DFlash2BeamDraftModel`).

## What the engine does
vLLM loads the draft in the target's dtype. The residual stream becomes inf and NaN, and no token is
accepted; nothing is logged.

## Example
`--dtype float16` with `incoai/Qwen3.8-27B-DFlash2`: 0 accepted tokens, about 40 % in bfloat16.

## Fix
Launch with `--dtype bfloat16`.

## Fix safety
Nothing is edited.

## How sure
Observed in a public report; the code has no guard.

## References
vLLM `model_executor/models/qwen3_dflash2.py`.
"""

from __future__ import annotations

from specpreflight.models.finding import Remedy
from specpreflight.rules.rule import rule_of_events

RULE = rule_of_events(
    name="vllm-draft-overflows-half",
    summary="the draft leaves the range of float16",
    since="0.1.0",
    engines=("vllm",),
    topics=("architecture.draft-overflows",),
    remedies={
        "architecture.draft-overflows": (
            Remedy.flag("launch with --dtype bfloat16", "--dtype bfloat16"),
        )
    },
)
