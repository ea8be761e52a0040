"""The file of `--speculative-token-map` is not there, no torch file, or never read.

## What it checks
That the path leads to a file that begins as `torch.save` writes it, or that it can be
`repository/file` on the Hub; and that the algorithm reads the map at all.

## What the engine does
With EAGLE and NEXTN the draft worker loads the file after the target's weights, to cut the target's
head down to frequent tokens. A path that does not exist is taken for `repository/file` and asked
from the Hub, where a path of three words or an absolute one is refused. EAGLE-3 drafts bring a map
of their own (`d2t`), so the flag is ignored with a warning.

## Example
`--speculative-token-map /models/freq_32768.pt` where the file lies on another host only.

## Fix
Give the path of the file, or `repository/file`. With EAGLE3 take the flag away.

## Fix safety
Nothing is edited: the flag is the launch's.

## How sure
Proven where the file is no torch file. That a path is missing is inferred from this machine.

## References
SGLang `srt/speculative/eagle_worker.py`, `srt/speculative/spec_utils.py:load_token_map`;
sgl-project/sglang#4153.
"""

from __future__ import annotations

from collections.abc import Iterator

from specpreflight.models.finding import (
    Confidence,
    Finding,
    Origin,
    Outcome,
    Remedy,
    Stage,
    Value,
)
from specpreflight.models.launch import Launch
from specpreflight.models.resolved import Resolved
from specpreflight.models.token_map import TokenMap
from specpreflight.rules.rule import Rule

_FLAG = "--speculative-token-map"


def check(launch: Launch, resolved: Resolved) -> Iterator[Finding]:
    """Report a map that can't be loaded, and one that nobody loads."""
    found = launch.facts.get("token_map")
    algorithm = str(launch.flags.get("speculative-algorithm")).upper()
    if not isinstance(found, TokenMap):
        return
    if algorithm == "EAGLE3":
        yield _finding(
            found,
            Outcome.ADJUSTS,
            f"`{_FLAG}` is ignored: EAGLE-3 drafts have a map of their own",
            Remedy.manual(f"take {_FLAG} away"),
        )
    elif algorithm in ("EAGLE", "NEXTN"):
        why = _why_unfit(found)
        if why is not None:
            remedy = Remedy.flag("give the path of the map, or `repository/file` on the Hub")
            yield _finding(found, Outcome.CRASHES, f"the token map `{found.given}` {why}", remedy)


def _why_unfit(found: TokenMap) -> str | None:
    if found.kind == "directory":
        return "is a directory"
    if found.kind == "missing":
        return "is not there"
    return found.problem


def _finding(found: TokenMap, outcome: Outcome, message: str, remedy: Remedy) -> Finding:
    return Finding(
        RULE.name,
        outcome,
        message,
        stage=Stage.WEIGHTS if outcome is Outcome.CRASHES else None,
        confidence=Confidence.INFERRED if found.kind == "missing" else Confidence.PROVEN,
        values=(Value(_FLAG, found.given, Origin("flag", name=_FLAG)),),
        remedies=(remedy,),
    )


RULE = Rule(
    name="token-map-unfit",
    summary="the file of `--speculative-token-map` is not there, no torch file, or never read",
    since="0.1.0",
    check=check,
)
