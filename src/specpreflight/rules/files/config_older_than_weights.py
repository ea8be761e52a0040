"""The draft's config is a day older than its weights, and they disagree.

## What it checks
The times of `config.json` and of the newest weight file, together with numbers of the config that
the tensors contradict. Times alone say nothing: downloads and copies set them at will.

## What the engine does
It builds the draft from the config; what the weights then do is said by `tensors-do-not-fit` and
`tensors-cut-or-padded`.

## Example
A second training with a wider MLP saved into the folder of the first; only the weights were
written again.

## Fix
Export config and weights together.

## Fix safety
Nothing is edited.

## How sure
Inferred from the times; the disagreement itself is proven.

## References
The files' times and the tensors' headers.
"""

from __future__ import annotations

from collections.abc import Iterator

from specpreflight.models.finding import Confidence, Finding, Origin, Outcome, Remedy, Value
from specpreflight.models.folder import folder_of
from specpreflight.models.launch import Launch
from specpreflight.models.resolved import Resolved
from specpreflight.models.tensor_facts import find_contradictions
from specpreflight.models.weights import tensor_value, weights_of
from specpreflight.rules.rule import Rule

_DAY = 86_400


def check(launch: Launch, resolved: Resolved) -> Iterator[Finding]:
    """Compare the times where config and tensors disagree."""
    draft, table = launch.draft, weights_of(launch.draft)
    if draft is None or table is None:
        return
    times = {entry.name: entry.modified for entry in folder_of(draft) if entry.kind == "file"}
    weights = [times[name] for name in table.files if name in times]
    if "config.json" not in times or not weights or max(weights) - times["config.json"] < _DAY:
        return
    first = next(iter(find_contradictions(draft.text, table.tensors)), None)
    if first is None:
        return
    days = int((max(weights) - times["config.json"]) // _DAY)
    path = f"{draft.given.rstrip('/')}/config.json"
    yield Finding(
        RULE.name,
        Outcome.STARTS,
        f"config.json is {days} days older than the weights, and `{first.key}` disagrees",
        confidence=Confidence.INFERRED,
        detail=f"The config says {first.stated}, the weights say {first.found}.",
        values=(
            draft.text_value(first.key, first.key),
            tensor_value(draft, "tensor", first.tensor),
            Value("age", days, Origin("file", path=path)),
        ),
        remedies=(Remedy("export config and weights together", "manual", "placeholder"),),
    )


RULE = Rule(
    name="config-older-than-weights",
    summary="the draft's config is a day older than its weights, and they disagree",
    since="0.1.0",
    engines=("sglang", "vllm"),
    needs=("draft.config", "draft.weights"),
    check=check,
)
