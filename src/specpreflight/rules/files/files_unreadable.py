"""Files of a checkpoint that the serving user may not be able to read.

## What it checks
Files that this user can't read; and files that only their owner may read, in a checkpoint whose
other files everybody may.

## What the engine does
It opens the files as the user it runs as, in a container often another one than the one who
downloaded them: `PermissionError` while the weights are loaded.

## Example
`config.json` written by root with mode 600 by a script that patched it.

## Fix
`chmod a+r` the file.

## Fix safety
Nothing is changed here.

## How sure
Proven for this user; for the serving user inferred from the other files.

## References
The file's mode.
"""

from __future__ import annotations

from collections.abc import Iterator

from specpreflight.models.checkpoint import Checkpoint
from specpreflight.models.finding import Confidence, Finding, Origin, Outcome, Remedy, Stage, Value
from specpreflight.models.folder import FileEntry, folder_of
from specpreflight.models.launch import Launch
from specpreflight.models.resolved import Resolved
from specpreflight.rules.rule import Rule

_READ = (".safetensors", ".bin", ".json", ".model")


def check(launch: Launch, resolved: Resolved) -> Iterator[Finding]:
    """Compare what may be read with what will be."""
    for checkpoint in (launch.target, launch.draft):
        files = [
            entry
            for entry in folder_of(checkpoint)
            if entry.kind == "file" and entry.name.endswith(_READ)
        ]
        if checkpoint is None or not files:
            continue
        for entry in files:
            if not entry.readable:
                yield _finding(checkpoint, entry, Outcome.CRASHES, Confidence.PROVEN)
        private = [entry for entry in files if entry.readable and not entry.everybody]
        if private and len(private) * 2 < len(files):
            for entry in private:
                yield _finding(checkpoint, entry, Outcome.STARTS, Confidence.INFERRED)


def _finding(
    checkpoint: Checkpoint, entry: FileEntry, outcome: Outcome, confidence: Confidence
) -> Finding:
    path = f"{checkpoint.given.rstrip('/')}/{entry.name}"
    who = "this user can't read" if outcome is Outcome.CRASHES else "only its owner may read"
    return Finding(
        RULE.name,
        outcome,
        f"{who} the {checkpoint.role}'s {entry.name[:44]}",
        stage=Stage.WEIGHTS if outcome is Outcome.CRASHES else None,
        confidence=confidence,
        values=(Value("readable", entry.readable, Origin("file", path=path)),),
        remedies=(Remedy(f"chmod a+r {path}", "manual", "placeholder"),),
    )


RULE = Rule(
    name="files-unreadable",
    summary="files of a checkpoint that the serving user may not be able to read",
    since="0.1.0",
    engines=("sglang", "vllm"),
    check=check,
)
