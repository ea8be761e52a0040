"""A variable is called like the engine's and the engine does not read it.

## What it checks
Names that begin with the engine's prefixes (SGLANG_, SGL_ or VLLM_) against the names that this
release reads, and names given for this launch that only differ from one by a slip.

## What the engine does
Nothing: an unknown name is never reported.

## Example
`VLLM_USER_V1=1`; the name is VLLM_USE_V1.

## Fix
Use the name that is suggested, or remove the variable.

## Fix safety
Shown only.

## How sure
A name that only other releases read is a note.
Proven for the names the harvest of this release found; a plugin may read others.

## References
SGLang `srt/environ.py` and its `os.environ` look-ups; vLLM `vllm/envs.py`.
"""

from __future__ import annotations

from collections.abc import Iterator
from difflib import get_close_matches
from typing import Any

from specpreflight.models.finding import Finding, Outcome, Value
from specpreflight.models.launch import Launch, Variable
from specpreflight.models.resolved import Resolved
from specpreflight.rules.nccl.wording import set_to, unset
from specpreflight.rules.rule import Rule

_PREFIXES = {"sglang": ("SGLANG_", "SGL_"), "vllm": ("VLLM_",)}


def check(launch: Launch, resolved: Resolved) -> Iterator[Finding]:
    """Report each name that the engine does not read."""
    known: Any = launch.facts.get("engine_variables")
    if not known:
        return
    ever: Any = launch.facts.get("engine_variables_ever", ())
    prefixes = _PREFIXES.get(launch.engine.name, ())
    for name, variable in sorted(launch.environment.items()):
        if name.startswith(prefixes) and name not in known:
            yield (
                _of_other_release(variable, launch)
                if name in ever
                else _finding(variable, sorted(known), launch)
            )


def _of_other_release(variable: Variable, launch: Launch) -> Finding:
    return Finding(
        RULE.name,
        Outcome.STARTS,
        f"{launch.engine.name} {launch.engine.version} does not read {variable.name}"[:100],
        detail="Other releases do: it was removed, or comes later. It has no effect.",
        values=(Value(variable.name, variable.value, variable.origin),),
        remedies=(unset(variable.name),),
    )


def _finding(variable: Variable, known: list[str], launch: Launch) -> Finding:
    near = get_close_matches(variable.name, known, 1, cutoff=0.9)
    meant = f"; did you mean {near[0]}?" if near else ""
    return Finding(
        RULE.name,
        Outcome.DEGRADES if near else Outcome.STARTS,
        f"{launch.engine.name} does not read {variable.name}{meant}"[:100],
        detail=f"Release {launch.engine.version} looks this name up nowhere.",
        values=(Value(variable.name, variable.value, variable.origin),),
        remedies=(
            *(set_to(name, variable.value or "", safe=False) for name in near),
            unset(variable.name),
        ),
    )


RULE = Rule(
    name="engine-variable-unknown",
    summary="a variable is called like the engine's and the engine does not read it",
    since="0.1.0",
    engines=("sglang", "vllm"),
    check=check,
)
