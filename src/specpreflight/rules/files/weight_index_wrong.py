"""The index and the weight files of the draft tell different stories.

## What it checks
`model.safetensors.index.json` against the headers: files that it does not name, tensors that are
in another file, in none, in two, or not listed, and the total size that it states.

## What the engine does
Only the files that the index names are read, and all tensors in them: where a tensor is listed
makes no difference, a file that is not named does. Of a tensor in two files the later one wins.

## Example
A `model-extra.safetensors` with the draft's head that a script added without touching the index.

## Fix
Write the index again from the headers.

## Fix safety
Nothing is edited.

## How sure
Proven for SGLang.

## References
SGLang `srt/model_loader/weight_utils.py:filter_duplicate_safetensors_files`.
"""

from __future__ import annotations

from collections.abc import Iterator

from specpreflight.models.finding import Finding, Origin, Outcome, Remedy, Value
from specpreflight.models.launch import Launch
from specpreflight.models.resolved import Resolved
from specpreflight.models.weights import weights_of
from specpreflight.rules.rule import Rule

_KINDS = {
    "index-json": Outcome.CRASHES,
    "extra-shard": Outcome.DEGRADES,
    "duplicate-tensor": Outcome.DEGRADES,
    "other-shard": Outcome.STARTS,
    "missing-tensor": Outcome.STARTS,
    "unlisted-tensor": Outcome.STARTS,
    "total-size": Outcome.STARTS,
}


def check(launch: Launch, resolved: Resolved) -> Iterator[Finding]:
    """Report each kind of disagreement once for each file."""
    from specpreflight.models.finding import Stage

    head = launch.draft or launch.target
    table = weights_of(head)
    if head is None or table is None:
        return
    for problem in table.problems:
        outcome = _KINDS.get(problem.kind)
        if outcome is None:
            continue
        path = f"{head.given.rstrip('/')}/{problem.file}"
        yield Finding(
            RULE.name,
            outcome,
            f"{problem.file[-40:]}: {problem.message}"[:100],
            stage=Stage.WEIGHTS if outcome is Outcome.CRASHES else None,
            detail=f"Tensors: {', '.join(problem.tensors[:6])}." if problem.tensors else "",
            values=(Value(problem.kind, problem.message, Origin("file", path=path)),),
            remedies=(
                Remedy("write the index again from the files' headers", "manual", "placeholder"),
            ),
        )


RULE = Rule(
    name="weight-index-wrong",
    summary="the index and the weight files of the draft tell different stories",
    since="0.1.0",
    engines=("sglang", "vllm"),
    needs=("head.weights",),
    check=check,
)
