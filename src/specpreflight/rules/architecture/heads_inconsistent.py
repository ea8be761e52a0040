"""Attention heads that do not divide: among themselves, or over the tensor-parallel ranks.

## What it checks
For the draft and the target's language model: `num_attention_heads` is a multiple of
`num_key_value_heads`; the hidden size is a multiple of the heads where `head_dim` is not given; and
with `--tp-size` above 1 the heads divide over the ranks, and the key/value heads divide over them
or are divided by them.

## What the engine does
SGLang's `LlamaAttention` (which the EAGLE heads use) asserts `total_num_heads % tp_size == 0`, and
for key/value heads `% tp_size` in one or the other direction; the assertion has no text. The draft
runs on the same ranks as the target, so a draft with few heads stops a launch that the target
alone would survive.

## Example
A draft with 12 heads and `--tp-size 8`: an AssertionError while the draft is built, after the
target's weights were loaded.

## Fix
Choose a `--tp-size` that divides both, or another draft.

## Fix safety
Nothing is edited: heads are shapes of the weights.

## How sure
Proven for the classes that build on `LlamaAttention`; for other drafts inferred.

## References
SGLang `srt/models/llama.py:LlamaAttention.__init__`, 0.4.6.post5 to 0.5.23.
"""

from __future__ import annotations

from collections.abc import Iterator

from specpreflight.models.checkpoint import Checkpoint
from specpreflight.models.draft_format import DraftFormat, draft_format
from specpreflight.models.finding import (
    Confidence,
    Finding,
    Origin,
    Outcome,
    Remedy,
    Stage,
    Value,
)
from specpreflight.models.launch import Launch
from specpreflight.models.resolved import Resolved
from specpreflight.rules.rule import Rule


def check(launch: Launch, resolved: Resolved) -> Iterator[Finding]:
    """Check the draft's heads, alone and over the ranks."""
    draft = launch.draft
    if draft is None or draft.text.get("kv_lora_rank") is not None:
        return
    heads, kv_heads = _count(draft, "num_attention_heads"), _count(draft, "num_key_value_heads")
    if heads is None:
        return
    kv_heads = heads if kv_heads is None else kv_heads
    is_llama = draft_format(draft) in (DraftFormat.EAGLE, DraftFormat.EAGLE3)
    confidence = Confidence.PROVEN if is_llama else Confidence.INFERRED
    if heads % kv_heads:
        yield _finding(
            f"the draft has {heads} heads, not a multiple of its {kv_heads} key/value heads",
            (
                draft.text_value("heads", "num_attention_heads"),
                draft.text_value("kv heads", "num_key_value_heads"),
            ),
            confidence,
            Remedy.manual("find out which number the weights have"),
        )
    ranks = _ranks(launch)
    if ranks is None or ranks < 2:
        return
    flag = Value("tp", ranks, Origin("flag", name="--tp-size"))
    remedy = Remedy.flag("choose a --tp-size that divides the heads of both")
    if heads % ranks:
        yield _finding(
            f"the draft's {heads} heads do not divide over {ranks} tensor-parallel ranks",
            (draft.text_value("heads", "num_attention_heads"), flag),
            confidence,
            remedy,
        )
    elif kv_heads % ranks and ranks % kv_heads:
        yield _finding(
            f"the draft's {kv_heads} key/value heads do not fit {ranks} tensor-parallel ranks",
            (draft.text_value("kv heads", "num_key_value_heads"), flag),
            confidence,
            remedy,
        )


def _count(checkpoint: Checkpoint, key: str) -> int | None:
    """Return a positive count of the language model, `None` where it states no such number."""
    value = checkpoint.text.get(key)
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else None


def _ranks(launch: Launch) -> int | None:
    """Return the attention's tensor-parallel size, `None` where it is not plain `--tp-size`."""
    if launch.flags.get("enable-dp-attention"):
        return None
    text = launch.flags.get("tp-size")
    return int(text) if isinstance(text, str) and text.isdecimal() else None


def _finding(
    message: str, values: tuple[Value, ...], confidence: Confidence, remedy: Remedy
) -> Finding:
    return Finding(
        RULE.name,
        Outcome.CRASHES,
        message,
        stage=Stage.WEIGHTS,
        confidence=confidence,
        detail="An assertion without text fails when the draft's attention is built.",
        engine_message="AssertionError",
        values=values,
        remedies=(remedy,),
    )


RULE = Rule(
    name="heads-inconsistent",
    summary="the draft's attention heads do not divide, among themselves or over the ranks",
    since="0.1.0",
    needs=("draft.config",),
    check=check,
)
