"""A reduced draft vocabulary without the map to the target's.

## What it checks
That an EAGLE-3 draft whose `draft_vocab_size` is below `vocab_size` brings a `d2t` tensor.

## What the engine does
The draft's head numbers its own tokens; `d2t` holds what to add to each number for the target's.
Up to 0.4.8.post1 a draft without it stops the worker with an AttributeError; from 0.4.9 the map is
left empty and draft ids are used as target ids: other tokens are proposed than the draft meant.
Every tensor whose name contains `d2t` counts as the map; `D2T` or `draft_id_to_target_id` do not.

## Example
`draft_vocab_size: 32000` beside `vocab_size: 128256`, and only `t2d` in the file.

## Fix
Export the draft again with its map; it can't be rebuilt from the head.

## Fix safety
Nothing is edited.

## How sure
Proven that there is no map; that acceptance then falls to nothing is inferred.

## References
SGLang `srt/models/llama_eagle3.py:load_weights`, `srt/speculative/eagle_worker.py`.
"""

from __future__ import annotations

from collections.abc import Iterator

from specpreflight.models.draft_format import DraftFormat, draft_format
from specpreflight.models.finding import Finding, Outcome, Remedy, Stage
from specpreflight.models.launch import Launch
from specpreflight.models.resolved import Resolved
from specpreflight.models.weights import loader_of
from specpreflight.rules.rule import Rule


def check(launch: Launch, resolved: Resolved) -> Iterator[Finding]:
    """Report a reduced vocabulary without a map."""
    report, draft = loader_of(resolved), launch.draft
    if report is None or draft is None or draft_format(draft) is not DraftFormat.EAGLE3:
        return
    if report.error is not None or report.map_shape is not None or not report.reads_head:
        return
    reduced, whole = draft.config.get("/draft_vocab_size"), draft.text.get("vocab_size")
    if not isinstance(reduced, int) or not isinstance(whole, int) or reduced >= whole:
        return
    yield Finding(
        RULE.name,
        Outcome.ACCEPTS_NOTHING,
        f"no `d2t` maps the draft's {reduced} tokens to the target's {whole}",
        stage=Stage.SERVING,
        detail="Without the map draft ids are used as target ids, so other tokens are proposed.",
        values=(
            draft.value("draft_vocab_size", "/draft_vocab_size"),
            draft.text_value("vocab_size", "vocab_size"),
        ),
        remedies=(Remedy("export the draft again with its `d2t`", "manual", "placeholder"),),
    )


RULE = Rule(
    name="vocabulary-map-missing",
    summary="a reduced draft vocabulary without the map to the target's",
    since="0.1.0",
    needs=("draft.config", "draft.weights"),
    check=check,
)
