"""The draft model's vocabulary is not the target's.

## What it checks
`vocab_size` of target and draft, for methods that compare token ids directly (`draft_model`) and
for DFlash drafts that use the target's head.

## What the engine does
A difference is refused for `draft_model` from 0.15 on, where the method arrived: token ids of one
tokenizer mean nothing in the other. EAGLE drafts map their smaller vocabulary and are not checked
here. Runner V2 of 0.24 shares the target's head with a DFlash draft only where both sizes are
equal; otherwise a draft without a head of its own keeps an empty one, and none of its tokens is
accepted.

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
    topics=("vocabulary.draft-differs", "vocabulary.head-not-shared"),
    remedies={
        "vocabulary.head-not-shared": (Remedy.manual("use vLLM 0.25 or later"),),
        "vocabulary.draft-differs": (Remedy.manual("use a draft with the target's vocabulary"),),
    },
)
