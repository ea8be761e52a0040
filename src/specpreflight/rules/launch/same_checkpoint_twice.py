"""Target and draft are the same directory, and it holds no draft.

## What it checks
Whether both paths lead to one directory whose config mentions no MTP (NextN) layers.

## What the engine does
It loads the target a second time as its own draft: twice the memory, and with an EAGLE algorithm
features that no draft layer was trained on. A checkpoint that carries MTP layers is different:
there the same path is right, and nothing is reported.

## Example
`--model-path llama --speculative-draft-model-path llama`, from a copied line.

## Fix
Give the draft's own path.

## Fix safety
Nothing is edited.

## How sure
That the paths are the same is certain; that the launch then is useless is inferred.

## References
SGLang `srt/configs/model_config.py:_config_draft_model` (which targets become MTP drafts).
"""

from __future__ import annotations

from collections.abc import Iterator

from specpreflight.models.draft_format import DraftFormat, draft_format, has_mtp_layers
from specpreflight.models.finding import Confidence, Finding, Origin, Outcome, Remedy, Stage, Value
from specpreflight.models.launch import Launch
from specpreflight.models.resolved import Resolved
from specpreflight.rules.rule import Rule


def check(launch: Launch, resolved: Resolved) -> Iterator[Finding]:
    """Compare the two directories."""
    target, draft = launch.target, launch.draft
    if target is None or draft is None or target.directory is None or draft.directory is None:
        return
    if target.config.data != draft.config.data:
        return
    if target.directory.resolve() != draft.directory.resolve():
        return
    if has_mtp_layers(target) or draft_format(target) is not DraftFormat.STANDALONE:
        return
    if resolved.facts.get("draft_is_rewritten"):
        return
    yield Finding(
        RULE.name,
        Outcome.DEGRADES,
        "target and draft are the same checkpoint, and it has no MTP layers",
        stage=Stage.SERVING,
        confidence=Confidence.INFERRED,
        detail="The whole target would be loaded twice, the second copy to draft for the first.",
        values=(
            Value("target", launch.target_path, Origin("flag", name="--model-path")),
            Value(
                "draft", launch.draft_path, Origin("flag", name="--speculative-draft-model-path")
            ),
        ),
        remedies=(Remedy.flag("give the draft's own path"),),
    )


RULE = Rule(
    name="same-checkpoint-twice",
    summary="target and draft are the same directory, and it holds no draft",
    since="0.1.0",
    needs=("target.config", "draft.config"),
    check=check,
)
