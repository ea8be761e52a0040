"""A word stands where NCCL reads a number.

## What it checks
Every variable that NCCL reads with `strtoll`: a text that does not begin with a number, such as
`true`, `on`, `auto` or a number in quotes.

## What the engine does
The number parser returns 0 for a text without digits, and NCCL takes the 0 without a complaint:
`NCCL_P2P_DISABLE=true` leaves P2P on, `NCCL_NVLS_ENABLE=true` switches NVLS off. The nine typed
parameters of 2.30.7 take `true`; all others still do not.

## Example
`NCCL_IB_DISABLE=True`: InfiniBand stays on.

## Fix
Write 1 or 0.

## Fix safety
Safe for yes and no in their usual spellings.

## How sure
Proven: compared with NCCL's own parser of nine releases.

## References
NVIDIA/nccl `src/misc/param.cc:ncclLoadParam`, `src/graph/paths.cc:ncclGetLevel`.
"""

from __future__ import annotations

from collections.abc import Iterator

from specpreflight.models.finding import Finding, Outcome, Remedy
from specpreflight.models.launch import Launch
from specpreflight.models.nccl import NcclVariable, reading_of
from specpreflight.models.resolved import Resolved
from specpreflight.rules.nccl.wording import set_to, shown, unset
from specpreflight.rules.rule import Rule

_TRUE = frozenset({"true", "yes", "on", "enable", "enabled", "t", "y"})
_FALSE = frozenset({"false", "no", "off", "disable", "disabled", "none", "f", "n"})


def check(launch: Launch, resolved: Resolved) -> Iterator[Finding]:
    """Report each number that is no number."""
    reading = reading_of(launch)
    if reading is None:
        return
    for variable in reading.variables:
        if reading.in_force(variable.name) is None or not variable.value:
            continue
        understood = variable.understood
        disable = variable.name == "NCCL_P2P_DISABLE"
        if understood.kind != "int" and not disable:
            continue
        if understood.number == 0 and understood.rest == variable.value:
            yield _finding(variable)


def _finding(variable: NcclVariable) -> Finding:
    word = (variable.value or "").strip("\"' \t\r\n").lower()
    meant = "1" if word in _TRUE else "0" if word in _FALSE else word if word.isdigit() else None
    remedies: tuple[Remedy, ...] = (unset(variable.name),)
    if meant is not None:
        remedies = (set_to(variable.name, meant),)
    harmless = meant == "0"
    return Finding(
        RULE.name,
        Outcome.STARTS if harmless else Outcome.DEGRADES,
        f"{variable.name}=`{shown(variable.value)}` is read as 0; NCCL wants a number",
        detail=(variable.facts.meaning if variable.facts else "") or "",
        values=(variable.as_value(),),
        remedies=remedies,
    )


RULE = Rule(
    name="nccl-word-for-number",
    summary="a word stands where NCCL reads a number",
    since="0.1.0",
    engines=("sglang", "vllm"),
    check=check,
)
