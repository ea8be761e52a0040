"""A checkpoint directory without weights that the engine would load.

## What it checks
That target and draft hold safetensors or PyTorch weights; if not, whether a folder inside does
(the path is one level too high) and whether they are GGUF.

## What the engine does
SGLang looks for `*.safetensors`, then `*.bin` (and `*.pt`) in the directory itself, and stops with
`Cannot find any model weights with …`; for the draft that is after the target was loaded. A GGUF
file is loaded only by its own path, never out of its directory.

## Example
`--speculative-draft-model-path ./outputs`, where the checkpoint is in `./outputs/epoch_9`.

## Fix
Give the folder that holds the weights, or the GGUF file itself.

## Fix safety
Nothing is edited.

## How sure
Proven.

## References
SGLang `srt/model_loader/loader.py:DefaultModelLoader._prepare_weights`, all releases.
"""

from __future__ import annotations

from collections.abc import Iterator

from specpreflight.models.checkpoint import Checkpoint
from specpreflight.models.finding import Finding, Origin, Outcome, Remedy, Stage, Value
from specpreflight.models.folder import folder_of
from specpreflight.models.launch import Launch
from specpreflight.models.resolved import Resolved
from specpreflight.models.weights import why_unseen
from specpreflight.rules.rule import Rule

_WEIGHTS = (".safetensors", ".bin", ".pt", ".pth", ".gguf")


def check(launch: Launch, resolved: Resolved) -> Iterator[Finding]:
    """Report a directory with something in it that looks like a checkpoint, but no weights."""
    for checkpoint in (launch.target, launch.draft):
        if checkpoint is None or checkpoint.problem is not None:
            continue
        entries = folder_of(checkpoint)
        names = [entry.name for entry in entries if entry.name.endswith(_WEIGHTS)]
        if names and all(name.endswith(".gguf") for name in names):
            yield _only_gguf(checkpoint, names[0])
        if names:
            continue
        nested = [entry.name for entry in entries if entry.checkpoint]
        if nested:
            yield _finding(checkpoint, nested)


def _finding(checkpoint: Checkpoint, nested: list[str]) -> Finding:
    inside = f"{checkpoint.given.rstrip('/')}/{nested[0]}"
    return Finding(
        RULE.name,
        Outcome.CRASHES,
        f"the {checkpoint.role}'s directory has no weights, its folder {nested[0][:40]} has",
        stage=Stage.WEIGHTS,
        engine_message=f"Cannot find any model weights with `{checkpoint.given}`",
        values=(Value("inside", nested[0], Origin("file", path=inside)),),
        remedies=(Remedy(f"give {inside}", "manual", "placeholder"),),
    )


def _only_gguf(checkpoint: Checkpoint, name: str) -> Finding:
    path = f"{checkpoint.given.rstrip('/')}/{name}"
    return Finding(
        RULE.name,
        Outcome.CRASHES,
        f"the {checkpoint.role}'s directory has GGUF weights only, which engines take by file",
        stage=Stage.WEIGHTS,
        detail=f"{why_unseen(checkpoint) or ''}.",
        engine_message=f"Cannot find any model weights with `{checkpoint.given}`",
        values=(Value("weights", name, Origin("file", path=path)),),
        remedies=(Remedy(f"give {path}", "manual", "unsafe"),),
    )


RULE = Rule(
    name="weights-absent",
    summary="a checkpoint directory without weights that the engine would load",
    since="0.1.0",
    engines=("sglang", "vllm"),
    check=check,
)
