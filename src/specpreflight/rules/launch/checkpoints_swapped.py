"""Target and draft are the wrong way round.

## What it checks
Whether the checkpoint given as the target is an EAGLE, EAGLE-3 or DFlash head, which can only be a
draft, while the one given as the draft is a whole model.

## What the engine does
It builds the head as if it were a model to serve: the class exists, so nothing is refused at once,
and the launch dies later with a message about something else.

## Example
`check draft/ target/` instead of `check target/ draft/`.

## Fix
Exchange `--model-path` and `--speculative-draft-model-path`.

## Fix safety
Nothing is edited.

## How sure
The formats are told from architecture names and keys that only heads have. What exactly the engine
then says is not predicted.

## References
SGLang `srt/models/llama_eagle3.py` and the others listed by `draft-architecture-unknown`.
"""

from __future__ import annotations

from collections.abc import Iterator

from specpreflight.models.draft_format import DraftFormat, draft_format
from specpreflight.models.finding import Confidence, Finding, Outcome, Remedy, Stage
from specpreflight.models.launch import Launch
from specpreflight.models.resolved import Resolved
from specpreflight.rules.rule import Rule

_HEADS = (DraftFormat.EAGLE, DraftFormat.EAGLE3, DraftFormat.DFLASH, DraftFormat.DSPARK)


def check(launch: Launch, resolved: Resolved) -> Iterator[Finding]:
    """Compare what each checkpoint is with the place it was given."""
    target, draft = launch.target, launch.draft
    if target is None or draft is None:
        return
    if draft_format(target) not in _HEADS or draft_format(draft) in _HEADS:
        return
    yield Finding(
        RULE.name,
        Outcome.CRASHES,
        f"the target is an {draft_format(target).value} head and the draft a whole model",
        stage=Stage.WEIGHTS,
        confidence=Confidence.INFERRED,
        detail="A head has one layer and no way to run alone; only a draft can be one.",
        values=(
            target.value("target", "/architectures"),
            draft.value("draft", "/architectures"),
        ),
        remedies=(Remedy.flag("exchange the target's and the draft's path"),),
    )


RULE = Rule(
    name="checkpoints-swapped",
    summary="the target is a draft head, and the draft a whole model",
    since="0.1.0",
    engines=("sglang", "vllm"),
    needs=("target.config", "draft.config"),
    check=check,
)
