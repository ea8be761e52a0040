"""Draft and target would run in different dtypes.

## What it checks
The dtype that each will run in: `--dtype`, or else the `torch_dtype` (`dtype`) of its own config,
with the engine's rule for what is missing; for drafts that take the target's hidden states.

## What the engine does
`--dtype auto` (the default) takes each model's own dtype; float32, and a config that names none,
become float16 (bfloat16 for Gemma). The draft is not made to follow the target in any release. An
EAGLE-style head gets the target's hidden states and shares its embedding, so two dtypes meet in
one matrix product: `expected mat1 and mat2 to have the same dtype`, or a kernel that refuses mixed
input, when the draft's graphs are captured.

## Example
An EAGLE-3 head saved as float16 for a bfloat16 target.

## Fix
`--dtype bfloat16` makes both the same; or state the target's dtype in the draft's config.

## Fix safety
Unsafe: weights that were trained in float16 lose precision in bfloat16 (rarely visible).

## How sure
Observed: kernels differ in whether they refuse, and some releases cast in places.

## References
SGLang `srt/configs/model_config.py:_get_and_verify_dtype`, all releases.
"""

from __future__ import annotations

from collections.abc import Iterator

from specpreflight.models.checkpoint import Checkpoint
from specpreflight.models.draft_format import DraftFormat, draft_format
from specpreflight.models.finding import (
    Confidence,
    Edit,
    Finding,
    Outcome,
    Remedy,
    Stage,
    Value,
)
from specpreflight.models.launch import Launch
from specpreflight.models.resolved import Resolved
from specpreflight.rules.rule import Rule

_KEYS = ("dtype", "torch_dtype")
_NAMES = {
    "float": "float32",
    "float32": "float32",
    "half": "float16",
    "float16": "float16",
    "bfloat16": "bfloat16",
}


def check(launch: Launch, resolved: Resolved) -> Iterator[Finding]:
    """Compare the dtypes that `--dtype auto` gives both."""
    target, draft = launch.target, launch.draft
    if target is None or draft is None or launch.flags.get("dtype", "auto") != "auto":
        return
    if draft_format(draft) in (DraftFormat.STANDALONE, DraftFormat.MEDUSA):
        return
    if launch.flags.get("speculative-algorithm") is None:
        return
    theirs, ours = run_dtype(target), run_dtype(draft)
    if theirs is None or ours is None or theirs == ours:
        return
    shown = _stated(draft)
    yield Finding(
        RULE.name,
        Outcome.CRASHES,
        f"the draft runs in {ours}, the target in {theirs}",
        stage=Stage.WARMUP,
        confidence=Confidence.OBSERVED,
        detail="The draft's layers get hidden states of the target's dtype.",
        engine_message="expected mat1 and mat2 to have the same dtype",
        values=(_stated(target), shown),
        remedies=(
            Remedy("run both in one dtype", "flag", "unsafe", flags=(f"--dtype {theirs}",)),
            Remedy(
                f"state `{theirs}` in the draft's config",
                "edit",
                "unsafe",
                edits=_edits(draft, shown, theirs),
            ),
        ),
    )


def run_dtype(checkpoint: Checkpoint) -> str | None:
    """Restate `_get_and_verify_dtype` for `auto`; `None` where a value is not understood."""
    stated = _stated(checkpoint).value
    if stated is not None and not isinstance(stated, str):
        return None
    name = "float32" if stated is None else _NAMES.get(stated.removeprefix("torch."))
    if name == "float32":
        kind = str(checkpoint.config.get("/model_type", ""))
        return "bfloat16" if kind.startswith("gemma") else "float16"
    return name


def _stated(checkpoint: Checkpoint) -> Value:
    """Return the dtype that the config states, at the top or for the language model."""
    for prefix in ("", checkpoint.text_pointer):
        for key in _KEYS:
            if checkpoint.config.get(f"{prefix}/{key}") is not None:
                return checkpoint.value(f"{checkpoint.role} {key}", f"{prefix}/{key}")
    return checkpoint.value(f"{checkpoint.role} torch_dtype", "/torch_dtype")


def _edits(draft: Checkpoint, shown: Value, wanted: str) -> tuple[Edit, ...]:
    from specpreflight.models.finding import MISSING

    pointer = shown.origin.pointer or "/torch_dtype"
    before = MISSING if shown.value is None else shown.value
    return (Edit(draft.config.name, pointer, before, wanted),)


RULE = Rule(
    name="dtype-differs",
    summary="draft and target would run in different dtypes",
    since="0.1.0",
    needs=("target.config", "draft.config"),
    check=check,
)
