"""RoPE settings in a key that the engine's transformers release does not read.

## What it checks
Whether an EAGLE or EAGLE-3 head states its rotary settings only as `rope_parameters` (the layout
of transformers 5) for an engine release that pins transformers 4.

## What the engine does
SGLang up to 0.5.9 (but for 0.5.6.post1) pins transformers 4.x, whose config classes keep
`rope_parameters` as an unread extra attribute: `rope_theta` then is the class's default (10000 for
Llama) and the scaling is gone. From transformers 5 (SGLang 0.5.10) `rope_theta` and `rope_scaling`
are folded into `rope_parameters`, so both layouts work.

## Example
A draft exported by transformers 5 with `"rope_parameters": {"rope_theta": 1000000.0}` on SGLang
0.5.9 runs with theta 10000: it starts, and acceptance falls.

## Fix
Write `rope_theta` (and `rope_scaling`) beside `rope_parameters`; every release understands that.

## Fix safety
Not written by `--fix`: rotary settings have to match the weights.

## How sure
Proven for what is read; how much acceptance is lost depends on the model.

## References
transformers 5 `modeling_rope_utils.py:standardize_rope_params`; SGLang
`srt/models/llama.py` (`getattr(config, "rope_theta", 10000)`).
"""

from __future__ import annotations

from collections.abc import Iterator

from specpreflight.models.checkpoint import Checkpoint
from specpreflight.models.draft_format import DraftFormat, draft_format
from specpreflight.models.finding import Finding, Outcome, Remedy, Stage
from specpreflight.models.launch import Launch
from specpreflight.models.resolved import Resolved
from specpreflight.models.rope import read_rope
from specpreflight.rules.rule import Rule


def check(launch: Launch, resolved: Resolved) -> Iterator[Finding]:
    """Report checkpoints whose rotary settings this release does not read."""
    if resolved.facts.get("transformers_major") != 4:
        return
    draft = launch.draft
    if draft is None or draft_format(draft) not in (DraftFormat.EAGLE, DraftFormat.EAGLE3):
        return
    if read_rope(draft).layout == "v5":
        yield _unread(draft)


def _unread(checkpoint: Checkpoint) -> Finding:
    rope = read_rope(checkpoint)
    pointer = f"{checkpoint.text_pointer}/rope_parameters"
    values = [value for value in (rope.theta, rope.kind, rope.factor) if value is not None]
    return Finding(
        RULE.name,
        Outcome.DEGRADES,
        f"`rope_parameters` of the {checkpoint.role} is not read by this release; defaults apply",
        stage=Stage.SERVING,
        detail="This release pins transformers 4, which reads `rope_theta` and `rope_scaling`.",
        values=tuple(values) or (checkpoint.value(checkpoint.role, pointer),),
        remedies=(Remedy.manual("write `rope_theta` and `rope_scaling` beside `rope_parameters`"),),
    )


RULE = Rule(
    name="rope-key-layout",
    summary="RoPE settings in a key that the engine's transformers release does not read",
    since="0.1.0",
    needs=("draft.config",),
    check=check,
)
