"""A number is followed by something that NCCL does not read.

## What it checks
Every variable that NCCL reads with `strtoll`: size suffixes, fractions, exponents, comments and
octal notation.

## What the engine does
`strtoll` stops at the first character that is no digit and NCCL never looks at the rest:
`16M` is 16, `1e6` is 1, `1.5` is 1. A leading 0 means octal: `010` is 8 and `08` is 0. Blanks and
a carriage return at the end are harmless.

## Example
`NCCL_BUFFSIZE=16M`: buffers of 16 bytes.

## Fix
Write the number out: `NCCL_BUFFSIZE=16777216`.

## Fix safety
Safe for the suffixes K, M and G (powers of 1024), also with B or iB.

## How sure
Proven: compared with NCCL's own parser of nine releases.

## References
NVIDIA/nccl `src/misc/param.cc:ncclLoadParam`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from specpreflight.models.finding import Finding, Outcome, Remedy
from specpreflight.models.launch import Launch
from specpreflight.models.nccl import NcclVariable, reading_of
from specpreflight.models.resolved import Resolved
from specpreflight.rules.nccl.wording import set_to, shown
from specpreflight.rules.rule import Rule

_UNITS = {"k": 2**10, "m": 2**20, "g": 2**30}


def check(launch: Launch, resolved: Resolved) -> Iterator[Finding]:
    """Report each number whose end is lost, or whose notation surprises."""
    reading = reading_of(launch)
    if reading is None:
        return
    for variable in reading.variables:
        understood = variable.understood
        if reading.in_force(variable.name) is None or understood.kind != "int":
            continue
        text = variable.value or ""
        if understood.number is None or understood.rest == text:
            continue
        octal = re.match(r"\s*[+-]?0[0-9]", text) is not None and understood.number != int(
            re.sub(r"\D.*", "", text.strip().lstrip("+-")) or 0
        )
        if understood.rest.strip() or octal:
            yield _finding(variable, octal)


def _finding(variable: NcclVariable, octal: bool) -> Finding:
    text, number = variable.value or "", variable.understood.number
    comment = re.match(r"\s*#", variable.understood.rest)
    meant = _meant(text)
    remedies: tuple[Remedy, ...] = ()
    if meant is not None:
        remedies = (set_to(variable.name, str(meant)),)
    elif comment:
        remedies = (set_to(variable.name, str(number)),)
    harmless = comment is not None and not octal
    reason = "a leading 0 is octal" if octal else f"the rest, `{shown(variable.understood.rest)}`,"
    return Finding(
        RULE.name,
        Outcome.STARTS if harmless else Outcome.DEGRADES,
        f"{variable.name}=`{shown(text)}` is read as {number}",
        detail=f"{reason} {'in C' if octal else 'is not read'}. "
        + (variable.facts.meaning if variable.facts else ""),
        values=(variable.as_value(),),
        remedies=remedies,
    )


def _meant(text: str) -> int | None:
    match = re.fullmatch(r"\s*(\d+)\s*([kKmMgG])(?:i?[bB])?\s*", text)
    if match:
        return int(match[1]) * _UNITS[match[2].lower()]
    if re.fullmatch(r"\s*\d+[eE]\d{1,2}\s*", text):
        mantissa, exponent = re.split("[eE]", text.strip())
        return int(f"{mantissa}{'0' * int(exponent)}")
    return None


RULE = Rule(
    name="nccl-number-half-read",
    summary="a number is followed by something that NCCL does not read",
    since="0.1.0",
    engines=("sglang", "vllm"),
    check=check,
)
