"""`auto_map` names a code file that is not in the checkpoint.

## What it checks
The files behind `auto_map` in the config.json of target and draft: `configuration_x.Config` stands
for `configuration_x.py` beside it. Entries that name another repository (`org/name--file.Class`)
are left out, and so is a directory without weights, where only the small files were fetched.

## What the engine does
With `--trust-remote-code` transformers imports the file when the config is read, and fails if it
is not there. Without the flag it is not touched where the engine knows the model type.

## Example
A quantised copy that kept config.json and left the three `.py` files of the original out.

## Fix
Copy the code files from the original repository.

## Fix safety
Nothing is copied here.

## How sure
Proven that the file is absent; whether it is needed depends on the model type.

## References
transformers `dynamic_module_utils.py:get_class_from_dynamic_module`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from specpreflight.models.checkpoint import Checkpoint
from specpreflight.models.finding import Confidence, Finding, Outcome, Remedy, Stage
from specpreflight.models.launch import Launch
from specpreflight.models.resolved import Resolved
from specpreflight.rules.rule import Rule

_WEIGHTS = (".safetensors", ".bin", ".gguf")


def check(launch: Launch, resolved: Resolved) -> Iterator[Finding]:
    """Look for each file beside the config."""
    for checkpoint, stage in (
        (launch.target, Stage.TARGET_CONFIG),
        (launch.draft, Stage.DRAFT_CONFIG),
    ):
        if checkpoint is None or not any(n.endswith(_WEIGHTS) for n in checkpoint.files):
            continue
        missing = [key for key, file in _code_files(checkpoint) if file not in checkpoint.files]
        if missing:
            yield _finding(launch, checkpoint, stage, missing)


def _code_files(checkpoint: Checkpoint) -> Iterator[tuple[str, str]]:
    """Yield `(key of auto_map, file)` for code of the checkpoint's own."""
    found: Any = checkpoint.config.get("/auto_map")
    for key, stated in found.items() if isinstance(found, dict) else ():
        names = stated if isinstance(stated, list) else [stated]
        for name in names:
            if isinstance(name, str) and "--" not in name and "." in name:
                yield key, f"{name.split('.')[0]}.py"


def _finding(launch: Launch, checkpoint: Checkpoint, stage: Stage, keys: list[str]) -> Finding:
    trusted = launch.flags.get("trust-remote-code") is not None
    files = dict(_code_files(checkpoint))
    return Finding(
        RULE.name,
        Outcome.REFUSES if trusted else Outcome.STARTS,
        f"the {checkpoint.role}'s `auto_map` names {files[keys[0]][:40]}, which is not there",
        stage=stage if trusted else None,
        confidence=Confidence.INFERRED,
        values=tuple(checkpoint.value(key, f"/auto_map/{key}") for key in dict.fromkeys(keys)),
        remedies=(
            Remedy("copy the code files from the original repository", "manual", "placeholder"),
        ),
    )


RULE = Rule(
    name="remote-code-missing",
    summary="`auto_map` names a code file that is not in the checkpoint",
    since="0.1.0",
    engines=("sglang", "vllm"),
    check=check,
)
