"""The draft's RoPE base differs from the target's.

## What it checks
`rope_theta` (v4: beside `rope_scaling`; v5: inside `rope_parameters`) of the draft and of the
target's language model, where both state one.

## What the engine does
Nothing: every release builds each model's rotary table from its own config, and compares neither.
Whether the difference matters depends on the method. An EAGLE, EAGLE-3 or DFlash head has an
attention layer of its own, trained with the theta in its own config, so a difference is normal.
An MTP layer is part of the target and was trained with the target's theta. A standalone draft is
another model; nothing is reported for it.

## Example
A Kimi-K2.5 target states 50000, the published EAGLE-3 head for it 1000000: a note.

## Fix
For an MTP draft, look where its config came from; a conversion script may have left a default.

## Fix safety
Never edited: theta has to match the weights, not the other file.

## How sure
What the engine reads is proven; that an MTP layer with another theta accepts less is inferred.

## References
SGLang `srt/layers/rotary_embedding.py:get_rope`, called by each model with its own config.
"""

from __future__ import annotations

from collections.abc import Iterator

from specpreflight.models.draft_format import DraftFormat, draft_format
from specpreflight.models.finding import Confidence, Finding, Outcome, Remedy
from specpreflight.models.launch import Launch
from specpreflight.models.resolved import Resolved
from specpreflight.models.rope import read_rope
from specpreflight.rules.rule import Rule


def check(launch: Launch, resolved: Resolved) -> Iterator[Finding]:
    """Compare the two bases, with the severity that the method deserves."""
    if launch.target is None or launch.draft is None:
        return
    method = draft_format(launch.draft)
    target, draft = read_rope(launch.target).theta, read_rope(launch.draft).theta
    if method is DraftFormat.STANDALONE or target is None or draft is None:
        return
    if target.value == draft.value:
        return
    message = f"`rope_theta` of the draft is {draft.value}, of the target {target.value}"
    if method is DraftFormat.MTP:
        yield Finding(
            RULE.name,
            Outcome.DEGRADES,
            message,
            confidence=Confidence.INFERRED,
            detail="An MTP layer belongs to the target and was trained with the target's theta.",
            values=(draft, target),
            remedies=(Remedy.manual("find out which of the two files is wrong"),),
        )
        return
    yield Finding(
        RULE.name,
        Outcome.STARTS,
        message,
        detail=f"An {method.value} head is trained with its own theta, so this is normal.",
        values=(draft, target),
    )


RULE = Rule(
    name="rope-theta-differs",
    summary="the draft's RoPE base differs from the target's",
    since="0.1.0",
    engines=("sglang", "vllm"),
    needs=("target.config", "draft.config"),
    check=check,
)
