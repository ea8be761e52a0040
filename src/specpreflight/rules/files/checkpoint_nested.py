"""A folder inside the checkpoint holds another one, which is not loaded.

## What it checks
Folders in the directories of target and draft that have a `config.json` and weights of their own,
beside weights in the directory itself.

## What the engine does
It takes the weight files of the directory alone. Trainers leave `checkpoint-500` or `epoch_9`
inside the output folder, and the weights outside may be the older ones.

## Example
`draft/model.safetensors` of the first epoch, `draft/epoch_9/model.safetensors` of the last.

## Fix
Give the folder that is meant, or move the other one away.

## Fix safety
Nothing is edited.

## How sure
Proven that the folder is not read; which of the two was meant, the files do not say.

## References
SGLang `srt/model_loader/loader.py:DefaultModelLoader._prepare_weights`, all releases.
"""

from __future__ import annotations

from collections.abc import Iterator

from specpreflight.models.checkpoint import Checkpoint
from specpreflight.models.finding import Finding, Origin, Outcome, Remedy, Value
from specpreflight.models.folder import FileEntry, folder_of
from specpreflight.models.launch import Launch
from specpreflight.models.resolved import Resolved
from specpreflight.rules.rule import Rule

_WEIGHTS = (".safetensors", ".bin", ".pt", ".pth")
_SHOWN = 5


def check(launch: Launch, resolved: Resolved) -> Iterator[Finding]:
    """Report the folders of each checkpoint together, the newest first."""
    for checkpoint in (launch.target, launch.draft):
        entries = folder_of(checkpoint)
        own = [entry for entry in entries if entry.name.endswith(_WEIGHTS)]
        nested = [entry for entry in entries if entry.checkpoint]
        if checkpoint is not None and own and nested:
            yield _finding(checkpoint, own, sorted(nested, key=_age, reverse=True))


def _age(entry: FileEntry) -> float:
    return entry.modified


def _finding(checkpoint: Checkpoint, own: list[FileEntry], nested: list[FileEntry]) -> Finding:
    newer = nested[0].modified > max(entry.modified for entry in own)
    rest = f" and {len(nested) - 1} more" if len(nested) > 1 else ""
    return Finding(
        RULE.name,
        Outcome.STARTS,
        f"the {checkpoint.role}'s folder {nested[0].name[:40]}{rest} is not loaded",
        detail="It is newer than the weights that are." if newer else "",
        values=tuple(_value(checkpoint, entry) for entry in nested[:_SHOWN]),
        remedies=(
            Remedy(f"give {_path(checkpoint, nested[0])} if it is meant", "manual", "placeholder"),
        ),
    )


def _path(checkpoint: Checkpoint, entry: FileEntry) -> str:
    return f"{checkpoint.given.rstrip('/')}/{entry.name}"


def _value(checkpoint: Checkpoint, entry: FileEntry) -> Value:
    return Value("folder", entry.name, Origin("file", path=_path(checkpoint, entry)))


RULE = Rule(
    name="checkpoint-nested",
    summary="a folder inside the checkpoint holds another one, which is not loaded",
    since="0.1.0",
    engines=("sglang", "vllm"),
    check=check,
)
