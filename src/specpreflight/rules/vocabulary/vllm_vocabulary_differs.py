"""The draft model's vocabulary is not the target's.

## What it checks
`vocab_size` of target and draft, for methods that compare token ids directly (`draft_model`).

## What the engine does
vLLM refuses a difference from 0.15 on, where the method arrived: token ids of one tokenizer mean
nothing in the other. EAGLE drafts map their smaller vocabulary and are not checked here.

## Example
A draft of 151936 tokens for a target of 152064: `Target and draft model should have the same
vocabulary size`.

## Fix
Use a draft of the target's family and size of vocabulary.

## Fix safety
Nothing is edited.

## How sure
Proven: the engine's own code at this release, compared with recorded verdicts of it.

## References
vLLM `config/speculative.py:verify_equal_vocab_size_if_draft_model`.
"""

from __future__ import annotations

from specpreflight.models.finding import Remedy
from specpreflight.rules.rule import rule_of_events

RULE = rule_of_events(
    name="vllm-vocabulary-differs",
    summary="the draft model's vocabulary is not the target's",
    since="0.1.0",
    engines=("vllm",),
    topics=("vocabulary.draft-differs",),
    remedies={
        "vocabulary.draft-differs": (Remedy.manual("use a draft with the target's vocabulary"),),
    },
)
