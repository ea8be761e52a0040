"""A DSPARK draft has no confidence head, and the verify mode needs one.

## What it checks
With `SGLANG_RAGGED_VERIFY_MODE` at `cap-accept` or `compact`: that the draft's weights have
`confidence_head.proj.weight` and `.bias`, and that a head which takes Markov features has a
`markov_rank` at the top level of the config.

## What the engine does
From 0.5.16 on (the first release with DSPARK) `build_confidence_head` builds the head in every mode
but `static`, the default, and loading refuses a checkpoint without its two tensors. The message
offers `enable_confidence_head=False`, which does not help: the key is looked for, to warn where it
is missing, and its value is never read.

## Example
`SGLANG_RAGGED_VERIFY_MODE=compact` with a draft that was trained without a confidence head:
`DSpark confidence head is enabled but the checkpoint is missing ['confidence_head.proj.bias',
'confidence_head.proj.weight']`.

## Fix
Leave `SGLANG_RAGGED_VERIFY_MODE` at `static`, or use a draft with a trained head.

## Fix safety
`static` verifies whole blocks: slower where the draft is unsure, the output is the same.

## How sure
Proven where the names of the draft's tensors are at hand. DeepSeek-V4's bundled draft and MiniMax's
have loaders of their own, and are not judged.

## References
SGLang `srt/models/dspark.py`, `srt/speculative/ragged_verify.py`.
"""

from __future__ import annotations

from specpreflight.models.finding import Remedy
from specpreflight.rules.rule import rule_of_events

RULE = rule_of_events(
    name="confidence-head-missing",
    summary="a DSPARK draft has no confidence head, and the verify mode needs one",
    since="0.1.0",
    topics=("config.confidence-head",),
    remedies={
        "config.confidence-head": (
            Remedy(
                "verify whole blocks, which needs no confidence head",
                "environment",
                "safe",
                environment={"SGLANG_RAGGED_VERIFY_MODE": "static"},
            ),
        ),
    },
)
