"""The target gives no hidden states to drafts of this method.

## What it checks
The target's `model_type` against the list that the release keeps for the method, and its class
against the interface for auxiliary hidden states.

## What the engine does
The list is a search in the text of `model_type`: `qwen` allows every type that holds the word. A
type that is not listed is refused while the arguments are handled. A listed one whose class lacks
the interface stops after the target's weights are loaded: `Model does not support EAGLE3
interface`.

## Example
Method `eagle3` for Kimi-K2.5 (`model_type` `kimi_k2`) on 0.16.0: `Eagle3 is only supported for
['llama', 'qwen', …] models`.

## Fix
Use a release that lists the target, or another method.

## Fix safety
Nothing is edited.

## How sure
Proven: the engine's own code at this release, compared with recorded verdicts of it.

## References
vLLM `config/speculative.py:SpeculativeConfig._verify_args`,
`model_executor/models/interfaces.py:supports_eagle3`.
"""

from __future__ import annotations

from specpreflight.models.finding import Remedy
from specpreflight.rules.rule import rule_of_events

RULE = rule_of_events(
    name="vllm-target-unfit-for-drafts",
    summary="the target gives no hidden states to drafts of this method",
    since="0.1.0",
    engines=("vllm",),
    topics=(
        "architecture.target-unsupported",
        "architecture.target-lacks-eagle3",
    ),
    remedies={
        "architecture.target-unsupported": (
            Remedy.manual("use a release that lists this target, or another method"),
        ),
        "architecture.target-lacks-eagle3": (
            Remedy.manual("use a release whose class of this target has the interface"),
        ),
    },
)
