"""The draft rotates another part of each head than the target.

## What it checks
`partial_rotary_factor` of both, where an MTP draft states another one than the target.

## What the engine does
Each model rotates `head_dim * partial_rotary_factor` dimensions by its own config; nothing is
compared. Only an MTP layer has to agree with the target: heads trained on their own may differ.

## Example
A GLM-4 target states 0.5 and its converted MTP layer lost the key, which means 1.0.

## Fix
Copy the target's `partial_rotary_factor` into the draft's config.

## Fix safety
Never edited: it has to match the weights.

## How sure
What the engine reads is proven; that the draft is then broken is inferred.

## References
SGLang `srt/layers/rotary_embedding.py:get_rope` (`partial_rotary_factor`).
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
    """Compare the two factors of an MTP draft and its target."""
    if launch.target is None or launch.draft is None:
        return
    if draft_format(launch.draft) is not DraftFormat.MTP:
        return
    target, draft = read_rope(launch.target).partial, read_rope(launch.draft).partial
    stated = tuple(value for value in (draft, target) if value is not None)
    factors = [1.0 if value is None else value.value for value in (draft, target)]
    if not stated or factors[0] == factors[1]:
        return
    yield Finding(
        RULE.name,
        Outcome.DEGRADES,
        f"`partial_rotary_factor` of the draft is {factors[0]}, of the target {factors[1]}",
        confidence=Confidence.INFERRED,
        detail="An MTP layer belongs to the target and was trained with the target's factor.",
        values=stated,
        remedies=(Remedy.manual("find out which of the two files is wrong"),),
    )


RULE = Rule(
    name="partial-rotary-differs",
    summary="an MTP draft rotates another part of each head than the target",
    since="0.1.0",
    engines=("sglang", "vllm"),
    needs=("target.config", "draft.config"),
    check=check,
)
