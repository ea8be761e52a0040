"""The token budget of a batch has no room for the drafted tokens.

## What it checks
`--max-num-batched-tokens` and `--max-num-seqs` (or their defaults on this GPU) against the target's
length, the drafted tokens and LoRA.

## What the engine does
A budget below the number of sequences, or below the length without chunked prefill, is refused.
From 0.11.1 on LoRA with speculation needs `sequences * (tokens + 1)`. Drafts that are made in
parallel take room out of the budget: vLLM lowers what it schedules per step, and stops where
nothing is left.

## Example
`--max-num-batched-tokens 512 --max-num-seqs 256 --enable-lora` with three drafted tokens: `Consider
increasing max_num_batched_tokens or decreasing num_speculative_tokens`.

## Fix
Raise `--max-num-batched-tokens`, or lower `--max-num-seqs`.

## Fix safety
Nothing is edited.

## How sure
Proven: the engine's own code at this release, compared with recorded verdicts of it.

## References
vLLM `config/scheduler.py:verify_max_model_len`, `engine/arg_utils.py:create_engine_config`,
`config/vllm.py:_set_max_num_scheduled_tokens`.
"""

from __future__ import annotations

from specpreflight.models.finding import Remedy
from specpreflight.rules.rule import rule_of_events

RULE = rule_of_events(
    name="vllm-batch-budget-small",
    summary="the token budget of a batch has no room for the drafted tokens",
    since="0.1.0",
    engines=("vllm",),
    topics=(
        "arguments.budget-too-small",
        "launch.scheduled-tokens-low",
    ),
    remedies={
        "arguments.budget-too-small": (
            Remedy.flag("raise --max-num-batched-tokens, or lower --max-num-seqs"),
        ),
    },
    notes=True,
)
