"""A tensor is cut or padded with zeros while it is loaded, without a word.

## What it checks
Every tensor of the draft against the parameter that this release's draft class builds for it from
the config; only what the loader makes fit by itself.

## What the engine does
Query, key, value, gate and up projections are narrowed to the rows that the config calls for, and
`o_proj` and `down_proj` to its columns. A longer tensor is cut in every release. A shorter gate,
up, `o_proj` or `down_proj` is padded with zeros from 0.5.3 on (before, it raised). Nothing is
logged; the server starts with a broken draft.

## Example
A draft with `head_dim` 128 whose config says 64: half of the rows of every head's projection are
thrown away, and acceptance length stays near 1.

## Fix
Correct the number in config.json that the weights contradict.

## Fix safety
Unsafe: the weights show what the number must be, but a config that is wrong in one place may be
wrong in others that no shape shows.

## How sure
Proven that the tensor is cut or padded; that acceptance then falls to nothing is inferred.

## References
SGLang `srt/layers/linear.py` and `srt/layers/utils/common.py:pad_or_narrow_weight`, 0.5.3 on.
"""

from __future__ import annotations

from collections.abc import Iterator

from specpreflight.models.finding import Edit, Finding, Outcome, Remedy, Stage
from specpreflight.models.launch import Launch
from specpreflight.models.resolved import Resolved
from specpreflight.models.tensor_facts import Contradiction, find_contradictions
from specpreflight.models.weights import loader_of, tensor_value, weights_of
from specpreflight.rules.rule import Rule

#: Rows of these are padded to a multiple of 64 on purpose.
_PADDED_ON_PURPOSE = ("lm_head.weight", "embed_tokens.weight")


def check(launch: Launch, resolved: Resolved) -> Iterator[Finding]:
    """Report all silent cuts and paddings together: they have one cause."""
    report, draft = loader_of(resolved), launch.draft or launch.target
    table = weights_of(draft)
    if report is None or table is None or draft is None:
        return
    cut = {each.tensor: f"{each.used} of {each.elements} elements used" for each in report.resized}
    padded = {
        each.tensor: f"{each.zeros} zeros added"
        for each in report.zero_filled
        if not each.parameter.endswith(_PADDED_ON_PURPOSE)
    }
    changed = {**cut, **padded}
    if not changed:
        return
    first = next(iter(changed))
    causes = [
        each
        for each in find_contradictions(draft.text, table.tensors)
        if each.key not in ("num_hidden_layers", "vocab_size")
    ]
    rest = f" and {len(changed) - 1} more" if len(changed) > 1 else ""
    what = "cut" if first in cut else "padded with zeros"
    yield Finding(
        RULE.name,
        Outcome.ACCEPTS_NOTHING,
        f"`{first[:52]}`{rest} {'are' if rest else 'is'} {what} without a word",
        stage=Stage.SERVING,
        detail="; ".join(f"{name}: {how}" for name, how in list(changed.items())[:8]),
        values=(
            tensor_value(draft, "tensor", table.tensors[first]),
            *(draft.text_value(f"{c.key}, the weights say {c.found}", c.key) for c in causes),
        ),
        remedies=tuple(_remedy(each, draft.config.name, draft.text_pointer) for each in causes)
        or (Remedy("make config.json agree with the weights", "manual", "placeholder"),),
    )


def _remedy(cause: Contradiction, name: str, pointer: str) -> Remedy:
    return Remedy(
        f"set `{cause.key}` to {cause.found}, as the weights have it",
        "edit",
        "unsafe",
        edits=(Edit(name, f"{pointer}/{cause.key}", cause.stated, cause.found),),
    )


RULE = Rule(
    name="tensors-cut-or-padded",
    summary="a tensor is cut or padded with zeros while it is loaded, without a word",
    since="0.1.0",
    needs=("head.weights",),
    check=check,
)
