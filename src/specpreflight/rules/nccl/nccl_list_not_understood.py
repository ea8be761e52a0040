"""A word in NCCL_ALGO or NCCL_PROTO is none that NCCL knows.

## What it checks
The items, and since 2.24 the collectives in front of a colon, of both variables, as NCCL's own
parser of the release reads them: no blanks are trimmed, no quotes removed.

## What the engine does
From NCCL 2.24 on `parseList` warns and communicator creation returns `ncclInvalidUsage`, so the
server dies when it connects its ranks. Up to 2.23 the word is dropped without a message, and
everything that the list does not name is switched off all the same.

## Example
`NCCL_ALGO="Ring"` with the quotes kept (docker's env files keep them), `NCCL_PROTO=LL, Simple`
with a blank, `NCCL_ALGO=ring;tree`.

## Fix
Write the words alone, with commas and no blanks: `NCCL_PROTO=LL,Simple`.

## Fix safety
The cleaned value is shown, not written: only you know which words you meant.

## How sure
Proven: the parser is restated and compared with NCCL's own, compiled from its releases.

## References
NVIDIA/nccl `src/graph/tuning.cc:parseList` (2.14 to 2.30).
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from specpreflight.models.finding import Finding, Outcome, Remedy, Stage
from specpreflight.models.launch import Launch
from specpreflight.models.nccl import NcclReading, NcclVariable, Release, reading_of
from specpreflight.models.resolved import Resolved
from specpreflight.rules.nccl.wording import set_to, shown
from specpreflight.rules.rule import Rule

_STRICT = Release(2, 24, 3)
_WORDS = {
    "NCCL_ALGO": ("Tree", "Ring", "CollNetDirect", "CollNetChain", "NVLS", "NVLSTree", "PAT"),
    "NCCL_PROTO": ("LL", "LL128", "Simple"),
}


def check(launch: Launch, resolved: Resolved) -> Iterator[Finding]:
    """Report each list that stops communicator creation, or that loses a word."""
    reading = reading_of(launch)
    if reading is None:
        return
    for name in _WORDS:
        variable = reading.in_force(name)
        if variable is None:
            continue
        if variable.understood.effect == "fatal":
            yield _stop(variable, reading)
        elif reading.release < _STRICT and variable.value:
            lost = [word for word in _items(variable.value) if not _is_known(name, word)]
            if lost:
                yield _loss(variable, reading, lost[0])


def _stop(variable: NcclVariable, reading: NcclReading) -> Finding:
    message = variable.understood.message.removeprefix("WARN: ")
    return Finding(
        RULE.name,
        Outcome.CRASHES,
        f"{variable.name}=`{shown(variable.value)}` is not what NCCL {reading.release} can parse",
        stage=Stage.WEIGHTS,
        detail="Communicator creation with two or more ranks returns ncclInvalidUsage.",
        engine_message=message or None,
        values=(variable.as_value(),),
        remedies=_cleaned(variable),
    )


def _loss(variable: NcclVariable, reading: NcclReading, word: str) -> Finding:
    return Finding(
        RULE.name,
        Outcome.DEGRADES,
        f"NCCL {reading.release} drops `{shown(word)}` from {variable.name} without a message",
        detail=f"What it understands is {variable.understood.text}. Releases from 2.24 on refuse "
        "the value.",
        values=(variable.as_value(),),
        remedies=_cleaned(variable),
    )


def _items(text: str) -> list[str]:
    return [item for item in text.removeprefix("^").split(",") if item]


def _is_known(name: str, word: str) -> bool:
    return any(word.lower() == known.lower() for known in _WORDS[name])


def _cleaned(variable: NcclVariable) -> tuple[Remedy, ...]:
    words = re.findall(r"[A-Za-z0-9]+", variable.value or "")
    known = [word for word in words if _is_known(variable.name, word)]
    mark = "^" if "^" in (variable.value or "") else ""
    if not known or ":" in (variable.value or ""):
        return ()
    return (set_to(variable.name, mark + ",".join(known), safe=False),)


RULE = Rule(
    name="nccl-list-not-understood",
    summary="a word in NCCL_ALGO or NCCL_PROTO is none that NCCL knows",
    since="0.1.0",
    engines=("sglang", "vllm"),
    check=check,
)
