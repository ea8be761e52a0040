"""The algorithm needs a draft checkpoint, and the launch names none.

## What it checks
Whether an algorithm that drafts with a checkpoint of its own is given without
`--speculative-draft-model-path`, for a target that carries no draft layers.

## What the engine does
DFLASH and DSPARK refuse. For EAGLE, EAGLE3 and STANDALONE no release refuses: the target's own
path is read as the draft's. Where the release turns that architecture into an MTP head this is
right; for any other the whole target is loaded a second time and the draft worker dies on an
attribute that a plain model lacks (`hot_token_id`, `set_embed`), or runs as a copy of the target.

## Example
`--model-path Qwen2.5-0.5B --speculative-algorithm EAGLE3`: the weights are loaded twice, then
`'Qwen2ForCausalLM' object has no attribute 'set_embed'`.

## Fix
Give `--speculative-draft-model-path`.

## Fix safety
Nothing is edited.

## How sure
Proven: the engine's own code at this release.

## References
SGLang `arg_groups/speculative_hook.py`, `srt/configs/model_config.py:_config_draft_model`,
`srt/speculative/eagle_worker.py`; sglang#36528.
"""

from __future__ import annotations

from specpreflight.models.finding import Remedy
from specpreflight.rules.rule import rule_of_events

RULE = rule_of_events(
    name="draft-path-missing",
    summary="the algorithm needs a draft checkpoint, and the launch names none",
    since="0.1.0",
    topics=("arguments.draft-path-missing", "draft.is-target"),
    remedies={
        "arguments.draft-path-missing": (Remedy.flag("give --speculative-draft-model-path"),),
        "draft.is-target": (Remedy.flag("give --speculative-draft-model-path"),),
    },
)
