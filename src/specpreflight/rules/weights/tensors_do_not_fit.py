"""A tensor has a shape that its parameter refuses.

## What it checks
Every tensor of the draft against the parameter that this release's draft class builds for it from
the config; only the clashes on which the loader stops.

## What the engine does
Plain parameters (`fc`, norms, router gates) are compared exactly by `default_weight_loader`; rows
of `lm_head` and `embed_tokens` against the vocabulary; projections in the dimension that is not
split over ranks. Each fails with an AssertionError or RuntimeError in the middle of loading. What
the loader cuts or pads without a word is another rule: `tensors-cut-or-padded`.

## Example
`fc.weight` with 3 x 4096 columns under a config that names five auxiliary layers: `Attempted to
load weight (torch.Size([4096, 12288])) into parameter (torch.Size([4096, 20480]))`.

## Fix
Make the config say what the weights are, or use the checkpoint that belongs to the config.

## Fix safety
Nothing is edited: which of the two is right, only the one who trained the draft knows.

## How sure
Proven: the loaders are restated release by release and compared with recorded runs.

## References
SGLang `srt/model_loader/weight_utils.py:default_weight_loader`, `srt/layers/linear.py`,
`srt/layers/vocab_parallel_embedding.py`, 0.4.6.post5 to 0.5.23.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from specpreflight.models.checkpoint import Checkpoint
from specpreflight.models.finding import Finding, Outcome, Remedy, Stage, Value
from specpreflight.models.launch import Launch
from specpreflight.models.resolved import Resolved
from specpreflight.models.tensor_facts import find_contradictions
from specpreflight.models.weights import loader_of, tensor_value, weights_of
from specpreflight.rules.rule import Rule

if TYPE_CHECKING:
    from specpreflight.models.loader_report import LoaderError

#: What shape checks raise; other exceptions of a loader are `loader-refuses`.
_SHAPE_ERRORS = ("AssertionError", "RuntimeError", "IndexError", "ValueError")


def check(launch: Launch, resolved: Resolved) -> Iterator[Finding]:
    """Report the first clash, with the number of further ones."""
    report, draft = loader_of(resolved), launch.draft or launch.target
    table = weights_of(draft)
    if report is None or table is None or draft is None:
        return
    errors = [e for e in (report.error, *report.further) if e is not None and is_about_shape(e)]
    if not errors or errors[0] is not report.error:
        return
    tensor = table.tensors[errors[0].tensor or ""]
    rest = f", and {len(errors) - 1} more" if len(errors) > 1 else ""
    yield Finding(
        RULE.name,
        Outcome.CRASHES,
        f"`{tensor.name[:56]}` does not fit its parameter{rest}",
        stage=Stage.WEIGHTS,
        detail="; ".join(f"{e.tensor}: {e.message or e.exception}" for e in errors[:8]),
        engine_message=f"{errors[0].exception}: {errors[0].message}",
        values=(
            tensor_value(draft, "tensor", tensor),
            *_suspects(draft, {e.tensor for e in errors}),
        ),
        remedies=(
            Remedy("state in config.json what the weights are", "manual", "placeholder"),
            Remedy("use the checkpoint that this config was made for", "manual", "placeholder"),
        ),
    )


def is_about_shape(error: LoaderError) -> bool:
    """Return whether a loader's error is about one tensor's shape."""
    return error.tensor is not None and error.exception in _SHAPE_ERRORS


def _suspects(draft: Checkpoint, failed: set[str | None]) -> Iterator[Value]:
    """Yield the config's numbers that the tensors contradict."""
    table = weights_of(draft)
    if table is None or not failed:
        return
    for each in find_contradictions(draft.text, table.tensors):
        yield draft.text_value(f"{each.key}, the weights say {each.found}", each.key)


RULE = Rule(
    name="tensors-do-not-fit",
    summary="a tensor has a shape that its parameter refuses",
    since="0.1.0",
    needs=("head.weights",),
    check=check,
)
