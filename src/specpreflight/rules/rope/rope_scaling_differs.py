"""The draft's RoPE scaling differs from the target's.

## What it checks
Kind (`rope_type`, or `type` in old configs), `factor` and `original_max_position_embeddings` of
both, in the v4 (`rope_scaling`) and the v5 layout (`rope_parameters`).

## What the engine does
Each model gets the rotary table of its own config; nothing is compared. An EAGLE or EAGLE-3 head
is usually trained on short texts without scaling, so a difference is a note; an MTP layer shares
the target's scaling. The scaling also decides the context length that the engine derives: see
`draft-context-shorter`.

## Example
A YaRN target (factor 64 over 4096) with an unscaled EAGLE-3 head: a note. The same head as an MTP
draft: a warning.

## Fix
For an MTP draft, restore the target's `rope_scaling`.

## Fix safety
Never edited: it has to match the weights.

## How sure
What the engine reads is proven; the loss of acceptance is inferred.

## References
SGLang `srt/layers/rotary_embedding.py:get_rope`; transformers `modeling_rope_utils.py`.
"""

from __future__ import annotations

from collections.abc import Iterator

from specpreflight.models.draft_format import DraftFormat, draft_format
from specpreflight.models.finding import Confidence, Finding, Outcome, Remedy, Value
from specpreflight.models.launch import Launch
from specpreflight.models.resolved import Resolved
from specpreflight.models.rope import Rope, read_rope
from specpreflight.rules.rule import Rule


def check(launch: Launch, resolved: Resolved) -> Iterator[Finding]:
    """Compare kind, factor and original length, with the severity that the method deserves."""
    if launch.target is None or launch.draft is None:
        return
    method = draft_format(launch.draft)
    if method is DraftFormat.STANDALONE:
        return
    target, draft = read_rope(launch.target), read_rope(launch.draft)
    if _description(draft) == _description(target):
        return
    is_mtp = method is DraftFormat.MTP
    yield Finding(
        RULE.name,
        Outcome.DEGRADES if is_mtp else Outcome.STARTS,
        f"RoPE scaling of the draft is {_description(draft)}, of the target {_description(target)}",
        confidence=Confidence.INFERRED if is_mtp else Confidence.PROVEN,
        detail=(
            "An MTP layer belongs to the target and was trained with the target's scaling."
            if is_mtp
            else f"An {method.value} head is trained with its own scaling, so this is normal; "
            "acceptance may fall beyond the length it was trained on."
        ),
        values=tuple(_values(draft, target)),
        remedies=((Remedy.manual("restore the target's scaling in the draft"),) if is_mtp else ()),
    )


def _description(rope: Rope) -> str:
    """Return kind, factor and original length as a phrase, `none` where there is no scaling."""
    if rope.kind_name == "default" or rope.kind is None:
        return "none"
    parts = [rope.kind_name]
    if rope.factor is not None:
        parts.append(f"x{rope.factor.value:g}" if _is_number(rope.factor) else "x?")
    if rope.original is not None:
        parts.append(f"over {rope.original.value}")
    return " ".join(parts)


def _is_number(value: Value) -> bool:
    return isinstance(value.value, (int, float))


def _values(draft: Rope, target: Rope) -> Iterator[Value]:
    for rope in (draft, target):
        for value in (rope.kind, rope.factor, rope.original):
            if value is not None:
                yield value


RULE = Rule(
    name="rope-scaling-differs",
    summary="the draft's RoPE scaling (kind, factor, original length) differs from the target's",
    since="0.1.0",
    engines=("sglang", "vllm"),
    needs=("target.config", "draft.config"),
    check=check,
)
