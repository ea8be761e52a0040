"""A weight file that the safetensors library refuses to open.

## What it checks
The header of every safetensors file of the draft: its length, its JSON, each tensor's dtype, shape
and place, that the tensors cover the data without overlap or hole, and that the file is all there.
A git-lfs pointer or a web page in place of the weights is named as that.

## What the engine does
Every engine opens the files with the safetensors library, which checks the same and raises
`SafetensorError` (`InvalidHeaderDeserialization`, `MetadataIncompleteBuffer` …) when the draft is
loaded, after the target.

## Example
`model.safetensors` of 134 bytes that begins with `version https://git-lfs.github.com/spec/v1`:
the repository was cloned without git-lfs.

## Fix
Fetch the file again: `hf download`, or `git lfs pull`.

## Fix safety
Nothing is edited.

## How sure
Proven: the same conditions as in the library's own `tensor.rs`.

## References
https://github.com/huggingface/safetensors, `safetensors/src/tensor.rs`.
"""

from __future__ import annotations

from collections.abc import Iterator

from specpreflight.models.finding import Finding, Origin, Outcome, Remedy, Stage, Value
from specpreflight.models.launch import Launch
from specpreflight.models.resolved import Resolved
from specpreflight.models.weights import weights_of
from specpreflight.rules.rule import Rule

_KINDS = frozenset(
    {
        "truncated",
        "trailing-bytes",
        "header-size",
        "header-json",
        "entry",
        "dtype",
        "offsets",
        "lfs-pointer",
        "html",
        "not-safetensors",
        "unreadable",
        "empty",
    }
)


def check(launch: Launch, resolved: Resolved) -> Iterator[Finding]:
    """Report each broken file once, with its first problem."""
    head = launch.draft or launch.target
    table = weights_of(head)
    if head is None or table is None:
        return
    seen: set[str] = set()
    for problem in table.problems:
        if problem.kind not in _KINDS or problem.file in seen:
            continue
        seen.add(problem.file)
        path = f"{head.given.rstrip('/')}/{problem.file}"
        pointer = problem.kind == "lfs-pointer"
        command = "git lfs pull" if pointer else "fetch the file again: hf download"
        yield Finding(
            RULE.name,
            Outcome.CRASHES,
            f"{problem.file[-40:]}: {problem.message}"[:100],
            stage=Stage.WEIGHTS,
            detail=problem.message,
            engine_message="SafetensorError: Error while deserializing header",
            values=(Value(problem.kind, problem.message, Origin("file", path=path)),),
            remedies=(Remedy(command, "manual", "placeholder"),),
        )


RULE = Rule(
    name="weight-file-broken",
    summary="a weight file that the safetensors library refuses to open",
    since="0.1.0",
    engines=("sglang", "vllm"),
    needs=("head.weights",),
    check=check,
)
