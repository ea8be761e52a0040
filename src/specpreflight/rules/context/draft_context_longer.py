"""The draft can go further than the target is served.

## What it checks
Whether the draft's derived context length is above the target's.

## What the engine does
Nothing is lost: the draft worker is given the target's length, so the draft's positions end where
the target's do. It is worth knowing when a draft made for another target is used by mistake.

## Example
A draft with `max_position_embeddings` 1048576 beside a target with 262144: a note.

## Fix
None is needed.

## Fix safety
Nothing is edited.

## How sure
The engine's own code: the check is `>` in one direction only.

## References
SGLang `srt/configs/model_config.py:_derive_context_length`.
"""

from __future__ import annotations

from collections.abc import Iterator

from specpreflight.models.finding import Finding, Outcome
from specpreflight.models.launch import Launch
from specpreflight.models.resolved import Resolved
from specpreflight.rules.rule import Rule


def check(launch: Launch, resolved: Resolved) -> Iterator[Finding]:
    """Compare the two lengths that the engine derives from the configs."""
    target = resolved.facts.get("target_derived_length")
    draft = resolved.facts.get("draft_derived_length")
    if target is None or draft is None or launch.draft is None or draft <= target:
        return
    values = tuple(
        value
        for value in (resolved.facts.get("draft_length"), resolved.facts.get("target_length"))
        if value is not None
    )
    yield Finding(
        RULE.name,
        Outcome.STARTS,
        f"the draft's context length {draft} is above the target's {target}",
        detail="The draft is served with the target's length; nothing is lost.",
        values=values,
    )


RULE = Rule(
    name="draft-context-longer",
    summary="the draft's context length is above the target's; harmless, but worth knowing",
    since="0.1.0",
    needs=("target.config", "draft.config"),
    check=check,
)
