"""A `d2t` map of the wrong length, type or range.

## What it checks
The `d2t` tensor of an EAGLE-3 draft: one entry for each row of the head, a vector, integers; and,
where it is small enough to read, that each entry added to its index is an id of the target, and
that no two draft ids lead to the same one.

## What the engine does
Nothing is checked when the map is loaded: it computes `d2t + arange(len(d2t))`, so a column vector
becomes a square matrix and a float tensor a float map, and a map of another vocabulary points to
other tokens. A map that is shorter than the head is indexed out of bounds by the first draft.

## Example
The `d2t` of a Llama 3 draft in a Qwen draft: the same 32,000 entries, and none of them means what
the head means.

## Fix
Export the draft again with the map that belongs to its head.

## Fix safety
Nothing is edited: the map is part of the training.

## How sure
Proven from the tensor's header and data.

## References
SGLang `srt/models/llama_eagle3.py:load_weights` (`hot_token_id`), all releases.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator

from specpreflight.models.checkpoint import Checkpoint
from specpreflight.models.finding import Finding, Outcome, Remedy, Stage, Value
from specpreflight.models.launch import Launch
from specpreflight.models.resolved import Resolved
from specpreflight.models.weights import Tensor, WeightTable, loader_of, tensor_value, weights_of
from specpreflight.rules.rule import Rule

_INTEGERS = {"I64": "q", "I32": "i", "I16": "h", "U8": "B"}


def check(launch: Launch, resolved: Resolved) -> Iterator[Finding]:
    """Check the map's shape and dtype, then its entries."""
    report, draft = loader_of(resolved), launch.draft
    table = weights_of(draft)
    if report is None or draft is None or table is None:
        return
    if "attribute hot_token_id" not in {p for places in report.taken.values() for p in places}:
        return
    name = next(n for n, places in report.taken.items() if "attribute hot_token_id" in places)
    tensor = table.tensors[name]
    yield from _judge(draft, launch, table, tensor)


def _judge(
    draft: Checkpoint, launch: Launch, table: WeightTable, tensor: Tensor
) -> Iterator[Finding]:
    rows = _head_rows(draft, table)
    shown = (tensor_value(draft, "map", tensor),)
    if len(tensor.shape) != 1:
        yield _finding(
            Outcome.CRASHES,
            f"`{tensor.name}` has {len(tensor.shape)} dimensions, the map must be a vector",
            shown,
        )
        return
    if tensor.dtype not in _INTEGERS:
        yield _finding(
            Outcome.CRASHES, f"`{tensor.name}` is {tensor.dtype}, token ids are integers", shown
        )
        return
    if rows is not None and tensor.shape[0] != rows:
        yield _finding(
            Outcome.CRASHES if tensor.shape[0] < rows else Outcome.DEGRADES,
            f"`{tensor.name}` has {tensor.shape[0]} entries, the draft's head has {rows} rows",
            (*shown, draft.value("draft_vocab_size", "/draft_vocab_size")),
        )
    data = table.read(tensor)
    if data is not None:
        yield from _judge_entries(draft, launch, tensor, data)


def _judge_entries(
    draft: Checkpoint, launch: Launch, tensor: Tensor, data: bytes
) -> Iterator[Finding]:
    code = _INTEGERS[tensor.dtype]
    offsets = struct.unpack(f"<{tensor.shape[0]}{code}", data)
    ids = [offset + index for index, offset in enumerate(offsets)]
    owner = launch.target or draft
    whole = owner.text.get("vocab_size")
    shown = (tensor_value(draft, "map", tensor), owner.text_value("vocab_size", "vocab_size"))
    if isinstance(whole, int):
        outside = next((n for n, each in enumerate(ids) if not 0 <= each < whole), None)
        if outside is not None:
            yield _finding(
                Outcome.CRASHES,
                f"draft id {outside} maps to {ids[outside]}, the vocabulary ends at {whole - 1}",
                shown,
            )
            return
    if len(set(ids)) < len(ids):
        twice = len(ids) - len(set(ids))
        what = "offsets, not target ids" if len(set(offsets)) == len(offsets) else "distinct ids"
        yield _finding(
            Outcome.ACCEPTS_NOTHING,
            f"`{tensor.name}` leads {twice} draft ids to a token of another; it must hold {what}",
            shown,
        )


def _head_rows(draft: Checkpoint, table: WeightTable) -> int | None:
    head = next((t for n, t in table.tensors.items() if n.endswith("lm_head.weight")), None)
    if head is not None and head.shape:
        return head.shape[0]
    stated = draft.config.get("/draft_vocab_size")
    return stated if isinstance(stated, int) else None


def _finding(outcome: Outcome, message: str, values: tuple[Value, ...]) -> Finding:
    return Finding(
        RULE.name,
        outcome,
        message[:100],
        stage=Stage.SERVING,
        values=values,
        remedies=(Remedy("export the draft again with its own `d2t`", "manual", "placeholder"),),
    )


RULE = Rule(
    name="vocabulary-map-broken",
    summary="a `d2t` map of the wrong length, type or range",
    since="0.1.0",
    needs=("draft.config", "draft.weights"),
    check=check,
)
