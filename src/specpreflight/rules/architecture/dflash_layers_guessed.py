"""A DFlash draft does not say which of the target's layers it was trained on.

## What it checks
`dflash_config.target_layer_ids` of a DFlash draft, and its `num_target_layers` against the target.

## What the engine does
SGLang takes evenly spread layers from 1 to n - 3 where the key is missing (the middle one for a
draft of one layer), without a line in the log. A draft that was trained on others starts and
accepts little. Where the draft says that its target has another number of layers, a line in the log
says so, and the layers are chosen for the target that is served.

## Example
A draft trained on layers 5, 19, 33, 47, 61 without the key: layers 1, 16, 31, 46, 61 are captured.

## Fix
Write the layers that the training configuration names.

## Fix safety
Never edited: only the training knows them.

## How sure
The default is proven; whether the draft was trained on it is not known, so this is inferred.

## References
SGLang `srt/speculative/dflash_utils.py:parse_dflash_draft_config` (0.5.11 on).
"""

from __future__ import annotations

from collections.abc import Iterator

from specpreflight.models.checkpoint import Checkpoint
from specpreflight.models.draft_format import DraftFormat, draft_format
from specpreflight.models.finding import Confidence, Finding, Outcome, Remedy, Stage
from specpreflight.models.launch import Launch
from specpreflight.models.resolved import Resolved
from specpreflight.rules.rule import Rule


def check(launch: Launch, resolved: Resolved) -> Iterator[Finding]:
    """Look for the list of layers, and for the target that it was made for."""
    draft = launch.draft
    if draft is None or draft_format(draft) is not DraftFormat.DFLASH:
        return
    yield from _made_for_another(launch.target, draft)
    stated = draft.config.get("/dflash_config/target_layer_ids")
    if stated is None:
        stated = draft.config.get("/target_layer_ids")
    if stated is not None:
        return
    yield Finding(
        RULE.name,
        Outcome.DEGRADES,
        "`target_layer_ids` is missing; the engine captures layers by its own default",
        stage=Stage.SERVING,
        confidence=Confidence.INFERRED,
        detail="A draft that was trained on other layers starts, and accepts little.",
        values=(draft.value("draft", "/dflash_config"),),
        remedies=(Remedy.manual("write the layers that the draft was trained on"),),
    )


def _made_for_another(target: Checkpoint | None, draft: Checkpoint) -> Iterator[Finding]:
    place = next(
        (
            pointer
            for pointer in ("/dflash_config/num_target_layers", "/num_target_layers")
            if draft.config.get(pointer) is not None
        ),
        None,
    )
    if target is None or place is None or target.text.get("num_loops") is not None:
        return
    expected, layers = draft.config.get(place), target.text.get("num_hidden_layers")
    if not isinstance(expected, int) or not isinstance(layers, int) or expected == layers:
        return
    yield Finding(
        RULE.name,
        Outcome.DEGRADES,
        f"the draft was made for a target of {expected} layers, this one has {layers}",
        stage=Stage.SERVING,
        confidence=Confidence.INFERRED,
        detail="The engine warns, and captures layers of the target that it serves.",
        values=(
            draft.value("draft", place),
            target.text_value("target", "num_hidden_layers"),
        ),
        remedies=(Remedy.manual("use the draft that was trained for this target"),),
    )


RULE = Rule(
    name="dflash-layers-guessed",
    summary="a DFlash draft does not say which of the target's layers it was trained on",
    since="0.1.0",
    needs=("draft.config",),
    check=check,
)
