"""The algorithm needs a draft checkpoint, and the launch names none.

## What it checks
Whether an algorithm that drafts with a checkpoint of its own is given without
`--speculative-draft-model-path`, for a target that carries no draft layers.

## What the engine does
DFLASH and DSPARK refuse. For EAGLE, EAGLE3 and STANDALONE no release refuses: the target's own
path is read as the draft's. Where the release turns that architecture into an MTP head this is
right; for any other the whole target is loaded a second time and the draft worker dies on an
attribute that a plain model lacks (`hot_token_id`, `set_embed`), or runs as a copy of the target.
Targets with MTP layers of their own need no path where the release has them on its list
(DeepSeek-V3, GLM-4, HY-V3 …). A target on the list that is not turned into an MTP head
(Mistral-Large-3, whose EAGLE draft is a checkpoint of its own) is loaded twice as a whole. One that
is turned into a head but not on the list (Qwen3.5, Qwen3-Next, MiMo) starts, and is worse off than
with the path: from 0.5.14 to 0.5.21 the KV cache is sized without the draft's layers; for Qwen3.5
before, a server many times slower was reported.

## Example
`--model-path Qwen2.5-0.5B --speculative-algorithm EAGLE3`: the weights are loaded twice, then
`'Qwen2ForCausalLM' object has no attribute 'set_embed'`.

## Fix
Give `--speculative-draft-model-path`; for a target with its own MTP layers, the target's path.

## Fix safety
Nothing is edited.

## How sure
Proven: the engine's own code at this release. That a target of hundreds of gigabytes does not fit
twice is inferred; what the missing path of an MTP target costs is observed.

## References
SGLang `arg_groups/speculative_hook.py`, `srt/configs/model_config.py:_config_draft_model`,
`srt/speculative/eagle_worker.py`; sglang#36528, #23859, #39069.
"""

from __future__ import annotations

from collections.abc import Iterator

from specpreflight.models.finding import Finding, Outcome, Remedy
from specpreflight.models.launch import Launch
from specpreflight.models.resolved import Event, Resolved
from specpreflight.rules.rule import Rule, report_event

_FLAG = "--speculative-draft-model-path"
_NOT_DEFAULTED = "draft.path-not-defaulted"


def check(launch: Launch, resolved: Resolved) -> Iterator[Finding]:
    """Report a draft that is not named, and say which path to give where that is known."""
    for order, event in RULE.events(resolved):
        yield report_event(RULE, order, event, detail=_detail(event), remedies=(_remedy(event),))


def _remedy(event: Event) -> Remedy:
    if event.topic == _NOT_DEFAULTED:
        flag = f"{_FLAG} {event.facts['path']}"
        return Remedy.flag(f"name the target's own checkpoint: {flag}", flag)
    if event.outcome is Outcome.CRASHES:
        return Remedy.manual("use a release that makes an MTP head of this target")
    return Remedy.flag(f"give {_FLAG}")


def _detail(event: Event) -> str:
    if event.topic != _NOT_DEFAULTED:
        return f"Raised by {event.source}." if event.exception else ""
    if event.facts["counted"]:
        return (
            "The draft is read from the target's checkpoint all the same, through the config "
            "object that the target uses. A server many times slower than with the path was "
            "reported for this model."
        )
    return "The KV cache is sized without the draft's layers, so that memory may run out later."


RULE = Rule(
    name="draft-path-missing",
    summary="the algorithm needs a draft checkpoint, and the launch names none",
    since="0.1.0",
    topics=("arguments.draft-path-missing", "draft.is-target", _NOT_DEFAULTED),
    check=check,
)
