"""A file that the index names is not in the checkpoint.

## What it checks
The files in `model.safetensors.index.json` of target and draft against those in the directory;
no weight file is opened for it. Where none of them is there, only the small files were fetched, and
nothing is said.

## What the engine does
From 0.5.7 SGLang refuses to load with a list of the missing files. Before, it loads the files that
are there and leaves the rest of the parameters uninitialised, without a word.

## Example
`model-00003-of-00004.safetensors`, after a download that was interrupted. Or the index of the full
model beside a NextN layer that was exported alone.

## Fix
Fetch the missing files; or write an index of what is there.

## Fix safety
Nothing is edited.

## How sure
Proven for SGLang.

## References
SGLang `srt/model_loader/weight_utils.py:filter_duplicate_safetensors_files` (0.5.7).
"""

from __future__ import annotations

from collections.abc import Iterator

from specpreflight.models.checkpoint import Checkpoint
from specpreflight.models.finding import Finding, Origin, Outcome, Remedy, Stage, Value
from specpreflight.models.launch import Launch
from specpreflight.models.resolved import Resolved
from specpreflight.models.weights import missing_shards_of
from specpreflight.rules.rule import Rule

INDEX = "model.safetensors.index.json"


def check(launch: Launch, resolved: Resolved) -> Iterator[Finding]:
    """Report what is missing from each checkpoint."""
    for checkpoint in (launch.target, launch.draft):
        missing = missing_shards_of(checkpoint)
        if checkpoint is not None and missing:
            yield _finding(launch, checkpoint, dict(missing))


def _finding(launch: Launch, checkpoint: Checkpoint, missing: dict[str, int]) -> Finding:
    refused = launch.engine.name != "sglang" or _refuses(launch.engine.version)
    first, tensors = sorted(missing.items())[0]
    rest = f" and {len(missing) - 1} more" if len(missing) > 1 else ""
    silent = Outcome.WRONG_OUTPUT if checkpoint.role == "target" else Outcome.ACCEPTS_NOTHING
    folder = checkpoint.given.rstrip("/")
    return Finding(
        RULE.name,
        Outcome.CRASHES if refused else silent,
        f"the {checkpoint.role} lacks {first[:44]}{rest}, which its index names",
        stage=Stage.WEIGHTS if refused else Stage.SERVING,
        detail=f"{sum(missing.values())} tensors are in files that are not here.",
        values=(
            Value(f"{tensors} tensors", first, Origin("file", path=f"{folder}/{INDEX}")),
            Value("absent", None, Origin("file", path=f"{folder}/{first}")),
        ),
        remedies=(Remedy("fetch the missing files: hf download", "manual", "placeholder"),),
    )


def _refuses(version: str) -> bool:
    from packaging.version import InvalidVersion, Version

    try:
        return Version(version) >= Version("0.5.7")
    except InvalidVersion:
        return True


RULE = Rule(
    name="weight-shard-missing",
    summary="a file that the index names is not in the checkpoint",
    since="0.1.0",
    engines=("sglang", "vllm"),
    check=check,
)
