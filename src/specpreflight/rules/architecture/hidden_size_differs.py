"""The draft takes features of another width than the target gives.

## What it checks
The width that an EAGLE or EAGLE-3 head expects against the target's `hidden_size`. An EAGLE head
expects its own `hidden_size`; an EAGLE-3 head its `target_hidden_size`, or its own `hidden_size`
where that key is missing.

## What the engine does
SGLang builds `fc` with that width (`LlamaForCausalLMEagle`: 2 × `hidden_size` in, from embedding
and feature; `LlamaForCausalLMEagle3`: 3 × `target_hidden_size`) and feeds it the target's hidden
states. The widths meet in the first forward pass, which is the capture of the draft's CUDA graphs:
the launch has by then loaded both models. If the weights have the right width and only the config
is wrong, loading `fc.weight` fails instead.

## Example
An EAGLE head made for an 8B target (`hidden_size` 4096) with the 70B one (8192).

## Fix
Use the draft that was trained for this target. If the draft's own `fc.weight` is as wide as
3 × the target's hidden size, add `target_hidden_size`.

## Fix safety
Adding `target_hidden_size` is unsafe: only the weights can tell whether it is right.

## How sure
Proven: the shapes come from the config alone.

## References
SGLang `srt/models/llama_eagle.py` and `srt/models/llama_eagle3.py`, 0.4.6.post5 to 0.5.23.
"""

from __future__ import annotations

from collections.abc import Iterator

from specpreflight.models.draft_format import DraftFormat, draft_format
from specpreflight.models.finding import MISSING, Edit, Finding, Outcome, Remedy, Stage
from specpreflight.models.launch import Launch
from specpreflight.models.resolved import Resolved
from specpreflight.rules.rule import Rule


def check(launch: Launch, resolved: Resolved) -> Iterator[Finding]:
    """Compare the expected feature width with the target's hidden size."""
    target, draft = launch.target, launch.draft
    if target is None or draft is None:
        return
    method = draft_format(draft)
    if method not in (DraftFormat.EAGLE, DraftFormat.EAGLE3):
        return
    key = "hidden_size"
    if method is DraftFormat.EAGLE3 and draft.text.get("target_hidden_size") is not None:
        key = "target_hidden_size"
    expected, given = draft.text.get(key), target.text.get("hidden_size")
    if not isinstance(expected, int) or not isinstance(given, int) or expected == given:
        return
    remedies = [Remedy.manual("use the draft that was trained for this target")]
    if method is DraftFormat.EAGLE3 and key == "hidden_size":
        pointer = f"{draft.text_pointer}/target_hidden_size"
        remedies.append(
            Remedy(
                f"if `fc.weight` has 3 x {given} columns, state `target_hidden_size` {given}",
                "edit",
                "unsafe",
                edits=(Edit(draft.config.name, pointer, MISSING, given),),
            )
        )
    yield Finding(
        RULE.name,
        Outcome.CRASHES,
        f"the draft expects features of width {expected}, the target's hidden size is {given}",
        stage=Stage.WARMUP,
        detail="The widths meet in the draft's first forward pass, after both models are loaded.",
        engine_message="mat1 and mat2 shapes cannot be multiplied",
        values=(draft.text_value("draft", key), target.text_value("target", "hidden_size")),
        remedies=tuple(remedies),
    )


RULE = Rule(
    name="hidden-size-differs",
    summary="the draft takes features of another width than the target gives",
    since="0.1.0",
    needs=("target.config", "draft.config"),
    check=check,
)
