"""The algorithm is for another kind of draft.

## What it checks
`--speculative-algorithm` against what the draft is: EAGLE with an EAGLE-3 head, EAGLE3 with an
EAGLE or MTP draft, EAGLE with a DFlash block or a plain model, an EAGLE-3 head that states a plain
model's class, and STANDALONE with a model that the release takes for an MTP head.

## What the engine does
EAGLE with an EAGLE-3 draft is not refused by any release: no inner layers are captured, `fc` is
skipped because the widths agree, the draft's head is replaced by the target's and its token map is
never applied. The server starts, looks healthy, and accepts nothing (acceptance length 1.00).
EAGLE3 with a class that is no EAGLE-3 draft dies in the draft worker, after the weights, on an
attribute that the class lacks. A draft's class is rewritten by its name alone, whatever the
algorithm: with STANDALONE a `Qwen3MoeForCausalLM` becomes an MTP head from 0.5.13 on, a DeepSeek-V3
or GLM-4 MoE in all releases. The head finds none of its tensors in a plain checkpoint and drafts
from whatever its memory held.

## Example
`--speculative-algorithm EAGLE` with a `LlamaForCausalLMEagle3` draft.

## Fix
Give the algorithm that the draft is made for. Where the config states `LlamaForCausalLM` for an
EAGLE-3 head, write `LlamaForCausalLMEagle3`.

## Fix safety
Renaming the class is unsafe: only the tensors tell whether it is one (see `keys`).

## How sure
The missing attribute is proven; that nothing is accepted is observed (sglang#21272) for EAGLE, and
inferred for a rewritten standalone draft.

## References
SGLang `srt/speculative/eagle_worker.py`, `eagle_worker_v2.py`, `srt/models/llama_eagle3.py`,
`srt/configs/model_config.py:_config_draft_model`.
"""

from __future__ import annotations

from collections.abc import Iterator

from specpreflight.models.checkpoint import Checkpoint
from specpreflight.models.draft_format import DraftFormat, draft_format, first_architecture
from specpreflight.models.finding import Edit, Finding, Remedy
from specpreflight.models.launch import Launch
from specpreflight.models.resolved import Resolved
from specpreflight.rules.rule import Rule, report_event

_EAGLE_RUNS_EAGLE3 = "eagle3.algorithm-eagle"
_REWRITTEN = "draft.standalone-rewritten"
_NO_EAGLE = "eagle3.draft-not-eagle"
_FLAG = "--speculative-algorithm"


def check(launch: Launch, resolved: Resolved) -> Iterator[Finding]:
    """Report each mismatch with the algorithm, or the class, that fits."""
    for order, event in RULE.events(resolved):
        if event.topic == _EAGLE_RUNS_EAGLE3:
            remedies = [Remedy.flag("run it as EAGLE-3", f"{_FLAG} EAGLE3")]
        elif event.topic == _NO_EAGLE:
            remedies = list(_for_eagle(launch.draft))
        elif event.topic == _REWRITTEN:
            remedies = [Remedy.manual("use a draft of another architecture")]
        else:
            remedies = list(_for_eagle3(launch.draft))
        yield report_event(RULE, order, event, remedies=tuple(remedies))


def _for_eagle(draft: Checkpoint | None) -> Iterator[Remedy]:
    """Yield the ways out for a draft that is run as EAGLE and is none."""
    names = {DraftFormat.DFLASH: "DFLASH", DraftFormat.DSPARK: "DSPARK"}
    algorithm = None if draft is None else names.get(draft_format(draft))
    if algorithm is not None:
        yield Remedy.flag(f"run it as {algorithm}", f"{_FLAG} {algorithm}")
    elif draft is not None:
        yield Remedy.flag("run it as a model of its own", f"{_FLAG} STANDALONE")
    else:
        yield Remedy.flag("give a draft with --speculative-draft-model-path")


def _for_eagle3(draft: Checkpoint | None) -> Iterator[Remedy]:
    """Yield the ways out for a draft that is run as EAGLE-3 and states another class."""
    if draft is None:
        yield Remedy.flag("give the EAGLE-3 draft with --speculative-draft-model-path")
        return
    name = first_architecture(draft)
    if draft_format(draft) is DraftFormat.EAGLE3 and name == "LlamaForCausalLM":
        edit = Edit(draft.config.name, "/architectures/0", name, "LlamaForCausalLMEagle3")
        yield Remedy(
            "the keys are those of an EAGLE-3 head: state `LlamaForCausalLMEagle3`",
            "edit",
            "unsafe",
            edits=(edit,),
        )
        return
    if draft_format(draft) in (DraftFormat.EAGLE, DraftFormat.MTP):
        yield Remedy.flag("run it as EAGLE", f"{_FLAG} EAGLE")
    yield Remedy.manual("or use a draft that was trained as EAGLE-3")


RULE = Rule(
    name="algorithm-draft-mismatch",
    summary="the algorithm is for another kind of draft, such as EAGLE for an EAGLE-3 head",
    since="0.1.0",
    topics=(_EAGLE_RUNS_EAGLE3, "eagle3.draft-not-eagle3", _NO_EAGLE, _REWRITTEN),
    check=check,
)
