"""An EAGLE or EAGLE-3 head states another vocabulary than the target.

## What it checks
`vocab_size` of the head and of the target's language model; and that `draft_vocab_size` is not
larger than the head's own `vocab_size`.

## What the engine does
No SGLang release compares the two. Embedding and (for EAGLE) head are taken from the target, so a
wrong number goes unnoticed there. It decides the rows of the tensors that are loaded from the
draft's own file: where the weights have the target's rows, `self.org_vocab_size=…` fails while the
draft is loaded; where they have the config's, the draft was made for another vocabulary.

## Example
A training template for Gemma-3 says 262145, the model has 262144.

## Fix
Find out which number the weights have.

## Fix safety
Never edited: it has to match the weights.

## How sure
Inferred from the config alone; the rules about weights are sure.

## References
SGLang `srt/layers/vocab_parallel_embedding.py:weight_loader`, `srt/models/llama_eagle3.py`.
"""

from __future__ import annotations

from collections.abc import Iterator

from specpreflight.models.draft_format import DraftFormat, draft_format
from specpreflight.models.finding import Confidence, Finding, Outcome, Remedy, Stage, Value
from specpreflight.models.launch import Launch
from specpreflight.models.resolved import Resolved
from specpreflight.rules.rule import Rule


def check(launch: Launch, resolved: Resolved) -> Iterator[Finding]:
    """Compare the vocabularies of a head and its target, and the head's two sizes."""
    target, draft = launch.target, launch.draft
    if target is None or draft is None:
        return
    if draft_format(draft) not in (DraftFormat.EAGLE, DraftFormat.EAGLE3):
        return
    theirs, ours = target.text.get("vocab_size"), draft.text.get("vocab_size")
    reduced = draft.text.get("draft_vocab_size")
    if isinstance(theirs, int) and isinstance(ours, int) and theirs != ours:
        yield _finding(
            f"`vocab_size` of the draft is {ours}, of the target {theirs}",
            "A head predicts the target's tokens, so the two vocabularies are one.",
            draft.text_value("draft", "vocab_size"),
            target.text_value("target", "vocab_size"),
        )
    if isinstance(ours, int) and isinstance(reduced, int) and reduced > ours:
        yield _finding(
            f"`draft_vocab_size` {reduced} is above the draft's own `vocab_size` {ours}",
            "The reduced vocabulary is a part of the whole one.",
            draft.text_value("reduced", "draft_vocab_size"),
            draft.text_value("whole", "vocab_size"),
        )


def _finding(message: str, detail: str, *values: Value) -> Finding:
    return Finding(
        RULE.name,
        Outcome.CRASHES,
        message,
        stage=Stage.WEIGHTS,
        confidence=Confidence.INFERRED,
        detail=detail,
        values=values,
        remedies=(Remedy.manual("find out which number the weights have"),),
    )


RULE = Rule(
    name="vocab-size-differs",
    summary="an EAGLE or EAGLE-3 head states another vocabulary than the target",
    since="0.1.0",
    needs=("target.config", "draft.config"),
    check=check,
)
