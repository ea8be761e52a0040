"""A draft is given, but nothing turns speculation on.

## What it checks
Whether the launch names a draft or speculative parameters and no algorithm.

## What the engine does
SGLang without `--speculative-algorithm` serves the target alone: the draft is not loaded, no line
in the log says so, and every request runs at plain speed. A lost line continuation in the launch
script is the usual reason.

## Example
`--speculative-draft-model-path D` without `--speculative-algorithm EAGLE3`.

## Fix
Add the algorithm that the draft's format calls for.

## Fix safety
Nothing is edited.

## How sure
The engine's own code: `SpeculativeAlgorithm.from_string(None)` is `NONE`.

## References
SGLang `srt/speculative/spec_info.py:SpeculativeAlgorithm.from_string`.
"""

from __future__ import annotations

from collections.abc import Iterator

from specpreflight.models.draft_format import DraftFormat, draft_format
from specpreflight.models.finding import Finding, Origin, Outcome, Remedy, Stage, Value
from specpreflight.models.launch import Launch
from specpreflight.models.resolved import Resolved
from specpreflight.rules.rule import Rule

#: The flag's value for each format (SGLang's names).
_ALGORITHM = {
    DraftFormat.EAGLE: "EAGLE",
    DraftFormat.EAGLE3: "EAGLE3",
    DraftFormat.MTP: "EAGLE",
    DraftFormat.DFLASH: "DFLASH",
    DraftFormat.DSPARK: "DSPARK",
    DraftFormat.STANDALONE: "STANDALONE",
}

_FLAGS = (
    "speculative-draft-model-path",
    "speculative-num-steps",
    "speculative-eagle-topk",
    "speculative-num-draft-tokens",
)


def check(launch: Launch, resolved: Resolved) -> Iterator[Finding]:
    """Look for speculative flags without an algorithm."""
    given = [name for name in _FLAGS if name in launch.flags]
    if not given or "speculative-algorithm" in launch.flags:
        return
    name = _ALGORITHM.get(draft_format(launch.draft)) if launch.draft is not None else None
    flag = f"--speculative-algorithm {name}" if name else "--speculative-algorithm NAME"
    yield Finding(
        RULE.name,
        Outcome.DEGRADES,
        f"`--{given[0]}` is given without `--speculative-algorithm`; speculation stays off",
        stage=Stage.SERVING,
        detail="The target is served alone at plain speed, and no line of the log says so.",
        values=(Value(given[0], launch.flags[given[0]], Origin("flag", name=f"--{given[0]}")),),
        remedies=(Remedy(f"add {flag}", "flag", "safe" if name else "placeholder", flags=(flag,)),),
    )


RULE = Rule(
    name="speculation-off",
    summary="a draft is given, but nothing turns speculation on",
    since="0.1.0",
    check=check,
)
