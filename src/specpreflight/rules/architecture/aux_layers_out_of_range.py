"""Auxiliary layer ids that the target does not have.

## What it checks
`eagle_config.eagle_aux_hidden_state_layer_ids` of an EAGLE-3 draft against the target's number of
layers, with the offset that this release adds; a top-level `eagle_aux_hidden_state_layer_ids`,
which no release reads for capture; and a list that is not one of whole numbers.

## What the engine does
The target's class turns the ids into "capture before layer i" (most classes add 1) and collects the
hidden state while it runs its layers. An id above the number of layers is never reached, so fewer
states come out than the draft's `fc` expects, and the first forward pass fails on the width. A
broken or missing `eagle_config` is swallowed, and the default `[2, n//2, n-3]` is used.

## Example
gpt-oss-120b has 36 layers; a draft with ids 24, 30, 36 gives `[25, 31, 37]`: two states of three,
`The size of tensor a (8640) must match the size of tensor b (5760)`.

## Fix
Use a release that treats the last id as the final boundary (0.5.17 for gpt-oss), or a draft that
was trained on layers inside the target.

## Fix safety
Never edited: the ids are what the draft was trained on.

## How sure
Proven where this release's offset is known; else the bare number of layers is compared.

## References
SGLang `srt/model_executor/model_runner.py` (0.4.9.post6 to 0.5.13),
`model_runner_components/spec_aux_hidden_state.py` (0.5.16 on),
`srt/models/*.py:set_eagle3_layers_to_capture`.
"""

from __future__ import annotations

from collections.abc import Iterator

from specpreflight.models.draft_format import DraftFormat, draft_format
from specpreflight.models.finding import Confidence, Finding, Outcome, Remedy, Stage
from specpreflight.models.launch import Launch
from specpreflight.models.resolved import Resolved
from specpreflight.rules.rule import Rule

_KEY = "eagle_aux_hidden_state_layer_ids"


def check(launch: Launch, resolved: Resolved) -> Iterator[Finding]:
    """Check where the ids stand, what they are, and whether the target has those layers."""
    target, draft = launch.target, launch.draft
    if target is None or draft is None or draft_format(draft) is not DraftFormat.EAGLE3:
        return
    nested = f"/eagle_config/{_KEY}"
    ids = draft.config.get(nested)
    if ids is None and draft.config.get(f"/{_KEY}") is not None:
        yield _ignored(launch)
        return
    layers = target.text.get("num_hidden_layers")
    if not isinstance(ids, list) or not isinstance(layers, int):
        return
    offset = resolved.facts.get("aux_layer_offset")
    known = isinstance(offset, int)
    beyond = [one for one in ids if isinstance(one, int) and one + (offset or 0) > layers]
    negative = [one for one in ids if isinstance(one, int) and one < 0]
    if not beyond and not negative:
        return
    wrong = (beyond or negative)[0]
    yield Finding(
        RULE.name,
        Outcome.CRASHES,
        f"auxiliary layer id {wrong} is outside the target's {layers} layers",
        stage=Stage.WARMUP,
        confidence=Confidence.PROVEN if known else Confidence.INFERRED,
        detail=(
            f"This release captures before layer {wrong + (offset or 0)}, which the target never "
            "reaches, so fewer hidden states come out than the draft's `fc` expects."
        ),
        engine_message="The size of tensor a must match the size of tensor b",
        values=(draft.value("draft", nested), target.text_value("target", "num_hidden_layers")),
        remedies=(Remedy.manual("use a draft that was trained on this target's layers"),),
    )


def _ignored(launch: Launch) -> Finding:
    assert launch.draft is not None
    return Finding(
        RULE.name,
        Outcome.DEGRADES,
        f"`{_KEY}` is at the top level, where no release reads it; default layers are captured",
        stage=Stage.SERVING,
        detail="Only the list inside `eagle_config` decides what the target captures.",
        values=(launch.draft.value("draft", f"/{_KEY}"),),
        remedies=(Remedy.manual("move the list into `eagle_config`"),),
    )


RULE = Rule(
    name="aux-layers-out-of-range",
    summary="auxiliary layer ids that the target lacks, or that stand where nothing reads them",
    since="0.1.0",
    needs=("target.config", "draft.config"),
    check=check,
)
