"""A setting that this speculative algorithm does not accept.

## What it checks
Settings that belong to one algorithm: block size and attention window of DFLASH, gamma and the
ragged verification of DSPARK, the corpus of NGRAM, the LoRA draft of UNO; the algorithms that a
target or a draft (DeepSeek-V4, Gemma 4's assistant) goes with.

## What the engine does
SGLang looks at these only for the algorithm that they belong to, and refuses values that are not
positive, sizes that contradict each other, and targets that have no other way to speculate.

## Example
`--speculative-dflash-block-size 8 --speculative-num-draft-tokens 16`: `Both
--speculative-num-draft-tokens and --speculative-dflash-block-size are set but they differ.`

## Fix
Follow the engine's message, which names the flags and the values that go together.

## Fix safety
Nothing is edited.

## How sure
Proven: the engine's own code at this release.

## References
SGLang `arg_groups/speculative_hook.py:_handle_dflash`, `_handle_dspark`, `_handle_ngram`, `uno`
validation; `server_args.py` in older releases.
"""

from __future__ import annotations

from specpreflight.models.finding import Remedy
from specpreflight.rules.rule import rule_of_events

RULE = rule_of_events(
    name="algorithm-settings-unfit",
    summary="a setting that this speculative algorithm does not accept",
    since="0.1.0",
    topics=(
        "arguments.block-size",
        "arguments.draft-window",
        "arguments.draft-window-small",
        "arguments.ragged-verify-mode",
        "arguments.ngram-corpus",
        "arguments.uno",
        "arguments.algorithm-target",
        "arguments.frozen-kv-eagle3",
        "arguments.token-map-mtp",
    ),
    remedies={
        "arguments.frozen-kv-eagle3": (
            Remedy.flag("run it as NEXTN", "--speculative-algorithm NEXTN"),
        ),
        "arguments.token-map-mtp": (Remedy.flag("leave --speculative-token-map out"),),
    },
)
