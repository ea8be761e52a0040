"""A tied head beside a head, or a reduced vocabulary, of its own.

## What it checks
`tie_word_embeddings: true` in an EAGLE-3 draft that has a `draft_vocab_size` below `vocab_size`, or
an `lm_head.weight` of its own.

## What the engine does
With the flag the head *is* the embedding, which the worker replaces by the target's: the draft's
`lm_head.weight` is dropped, and it proposes from the whole vocabulary. Its ids are then looked up
in `d2t`, which has `draft_vocab_size` entries: an index out of bounds on the GPU when the first
batch is drafted.

## Example
A Qwen3-1.7B draft that copied the flag from its target: `draft_vocab_size` 32000, `vocab_size`
151936, and a device-side assert while the CUDA graphs are captured.

## Fix
Set `tie_word_embeddings` to false in the draft.

## Fix safety
Safe where the weights hold an `lm_head.weight` of `draft_vocab_size` rows; else unsafe.

## How sure
Proven for `LlamaForCausalLMEagle3` and `Eagle3DeepseekV2ForCausalLM`, all releases.

## References
SGLang `srt/models/llama_eagle3.py`, `srt/speculative/eagle_worker.py`.
"""

from __future__ import annotations

from collections.abc import Iterator

from specpreflight.models.draft_format import DraftFormat, draft_format
from specpreflight.models.finding import Edit, Finding, Outcome, Remedy, Stage
from specpreflight.models.launch import Launch
from specpreflight.models.resolved import Resolved
from specpreflight.models.weights import names_of, tensor_of
from specpreflight.rules.rule import Rule


def check(launch: Launch, resolved: Resolved) -> Iterator[Finding]:
    """Compare the flag with the vocabulary and the tensors."""
    draft = launch.draft
    if draft is None or draft_format(draft) is not DraftFormat.EAGLE3:
        return
    if draft.config.get("/tie_word_embeddings") is not True:
        return
    reduced, whole = draft.config.get("/draft_vocab_size"), draft.text.get("vocab_size")
    is_reduced = isinstance(reduced, int) and isinstance(whole, int) and reduced < whole
    has_head = "lm_head.weight" in (names_of(draft) or ())
    if not is_reduced and not has_head:
        return
    head = tensor_of(draft, "lm_head.weight") if has_head else None
    proven = head is not None and head.shape[:1] == (reduced,)
    edit = Edit(draft.config.name, "/tie_word_embeddings", True, False)
    yield Finding(
        RULE.name,
        Outcome.CRASHES if is_reduced else Outcome.DEGRADES,
        f"`tie_word_embeddings` is true, `draft_vocab_size` {reduced} of {whole}"
        if is_reduced
        else "`tie_word_embeddings` is true, and the draft's own `lm_head.weight` is dropped",
        stage=Stage.WARMUP if is_reduced else Stage.SERVING,
        detail="The tied head is the target's embedding: it proposes ids that `d2t` does not have.",
        values=(
            draft.value("tie_word_embeddings", "/tie_word_embeddings"),
            draft.value("draft_vocab_size", "/draft_vocab_size"),
            draft.text_value("vocab_size", "vocab_size"),
        ),
        remedies=(
            Remedy(
                "set `tie_word_embeddings` to false in the draft",
                "edit",
                "safe" if proven else "unsafe",
                edits=(edit,),
            ),
        ),
    )


RULE = Rule(
    name="tied-head-contradicts",
    summary="a tied head beside a head, or a reduced vocabulary, of its own",
    since="0.1.0",
    needs=("draft.config",),
    check=check,
)
