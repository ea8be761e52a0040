"""A DFlash draft does not say which of the target's layers it was trained on.

## What it checks
`dflash_config.target_layer_ids` of a DFlash draft.

## What the engine does
SGLang takes evenly spread layers from 1 to n - 3 where the key is missing (the middle one for a
draft of one layer), without a line in the log. A draft that was trained on others starts and
accepts little.

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

from specpreflight.models.draft_format import DraftFormat, draft_format
from specpreflight.models.finding import Confidence, Finding, Outcome, Remedy, Stage
from specpreflight.models.launch import Launch
from specpreflight.models.resolved import Resolved
from specpreflight.rules.rule import Rule


def check(launch: Launch, resolved: Resolved) -> Iterator[Finding]:
    """Look for the list of layers."""
    draft = launch.draft
    if draft is None or draft_format(draft) is not DraftFormat.DFLASH:
        return
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


RULE = Rule(
    name="dflash-layers-guessed",
    summary="a DFlash draft does not say which of the target's layers it was trained on",
    since="0.1.0",
    needs=("draft.config",),
    check=check,
)
