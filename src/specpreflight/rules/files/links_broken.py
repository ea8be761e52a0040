"""Links in a checkpoint that lead nowhere, or out of it.

## What it checks
Symbolic links in the directories of target and draft: to nothing, or to a place outside the
checkpoint and outside the Hub cache that it belongs to.

## What the engine does
A link to nothing is a missing file: for weights SGLang's glob still finds the name, and opening it
fails while loading. A link that leaves the checkpoint works on this machine, and breaks in a
container or on another node that mounts only the checkpoint.

## Example
A Hub cache whose `blobs` were pruned while a snapshot still points to them.

## Fix
Fetch the files again, or copy them instead of linking.

## Fix safety
Nothing is edited.

## How sure
Proven for links to nothing; for links that leave the checkpoint it depends on the mounts.

## References
SGLang `srt/model_loader/loader.py:DefaultModelLoader._prepare_weights`.
"""

from __future__ import annotations

from collections.abc import Iterator

from specpreflight.models.checkpoint import Checkpoint
from specpreflight.models.finding import Finding, Origin, Outcome, Remedy, Stage, Value
from specpreflight.models.folder import FileEntry, folder_of
from specpreflight.models.launch import Launch
from specpreflight.models.resolved import Resolved
from specpreflight.rules.rule import Rule


def check(launch: Launch, resolved: Resolved) -> Iterator[Finding]:
    """Report links to nothing one by one, links that leave the checkpoint together."""
    for checkpoint in (launch.target, launch.draft):
        if checkpoint is None:
            continue
        entries = folder_of(checkpoint)
        for entry in entries:
            if entry.kind == "dangling":
                yield _dangling(checkpoint, entry)
        leaving = [entry for entry in entries if entry.outside is not None]
        if leaving:
            yield _leaving(checkpoint, leaving)


def _dangling(checkpoint: Checkpoint, entry: FileEntry) -> Finding:
    needed = entry.name.endswith((".safetensors", ".bin"))
    return Finding(
        RULE.name,
        Outcome.CRASHES if needed else Outcome.STARTS,
        f"the {checkpoint.role}'s {entry.name[:48]} is a link to nothing",
        stage=Stage.WEIGHTS if needed else None,
        values=(_value(checkpoint, entry, "link"),),
        remedies=(Remedy("fetch the file again: hf download", "manual", "placeholder"),),
    )


def _leaving(checkpoint: Checkpoint, entries: list[FileEntry]) -> Finding:
    rest = f" and {len(entries) - 1} more" if len(entries) > 1 else ""
    return Finding(
        RULE.name,
        Outcome.STARTS,
        f"the {checkpoint.role}'s {entries[0].name[:40]}{rest} link out of the checkpoint",
        detail="They break where only the checkpoint is mounted.",
        values=tuple(_value(checkpoint, entry, "link to") for entry in entries[:8]),
        remedies=(Remedy("copy the files instead of linking", "manual", "placeholder"),),
    )


def _value(checkpoint: Checkpoint, entry: FileEntry, label: str) -> Value:
    path = f"{checkpoint.given.rstrip('/')}/{entry.name}"
    return Value(label, entry.outside, Origin("file", path=path))


RULE = Rule(
    name="links-broken",
    summary="links in a checkpoint that lead nowhere, or out of it",
    since="0.1.0",
    engines=("sglang", "vllm"),
    check=check,
)
