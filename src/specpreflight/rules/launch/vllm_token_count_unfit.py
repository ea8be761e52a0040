"""The number of speculative tokens does not fit the draft, or is missing.

## What it checks
`num_speculative_tokens` against the number of tokens that the draft predicts by itself
(`n_predict`, the count of its MTP layers), and that it is given where the draft does not say it.

## What the engine does
Without a number, the one that the draft states is taken. Where it states none, up to 0.16 a
TypeError follows, later `A speculative model was provided, but … num_speculative_tokens was not
provided`. A number above the draft's own that is no multiple of it is refused. With one MTP layer
and more tokens that layer runs several times, which lowers acceptance.

## Example
`num_speculative_tokens` 3 with a draft of two MTP layers: `num_speculative_tokens:3 must be
divisible by n_predict=2`.

## Fix
Give a multiple of the draft's own number.

## Fix safety
Nothing is edited.

## How sure
Proven: the engine's own code at this release, compared with recorded verdicts of it.

## References
vLLM `config/speculative.py:SpeculativeConfig.__post_init__`.
"""

from __future__ import annotations

from specpreflight.models.finding import Remedy
from specpreflight.rules.rule import rule_of_events

RULE = rule_of_events(
    name="vllm-token-count-unfit",
    summary="the number of speculative tokens does not fit the draft, or is missing",
    since="0.1.0",
    engines=("vllm",),
    topics=(
        "arguments.tokens-missing",
        "arguments.tokens-not-divisible",
        "launch.mtp-layer-reused",
    ),
    remedies={
        "arguments.tokens-missing": (
            Remedy.flag("give `num_speculative_tokens` in --speculative-config"),
        ),
        "arguments.tokens-not-divisible": (
            Remedy.flag("give a multiple of the draft's own number"),
        ),
        "launch.mtp-layer-reused": (
            Remedy.flag("give as many tokens as the draft has MTP layers"),
        ),
    },
    notes=True,
)
