"""A variable is called like NCCL's and nobody is known to read it.

## What it checks
Every `NCCL_*` name (also in the wrong case) against the names that the releases from 2.3.5 on
read, the plugins and libraries in NCCL's own tree, and the names that PyTorch, builds, images and
vendors' plugins use.

## What the engine does
Nothing: NCCL looks names up one by one and never reports one that is left over.

## Example
`NCCL_MIN_CHANNELS=32`, copied from script to script; the name is NCCL_MIN_NCHANNELS.

## Fix
Use the name that is suggested, or remove the variable.

## Fix safety
Shown only: a corrected name takes effect for the first time, which may change behaviour.

## How sure
Proven for libnccl up to 2.30.7; a plugin of your own may read the name.

## References
`data/variables.json`, harvested from NVIDIA/nccl's release tags.
"""

from __future__ import annotations

from collections.abc import Iterator

from specpreflight.models.finding import Finding, Outcome, Severity
from specpreflight.models.launch import Launch
from specpreflight.models.nccl import NcclVariable, reading_of
from specpreflight.models.resolved import Resolved
from specpreflight.rules.nccl.wording import set_to, unset
from specpreflight.rules.rule import Rule


def check(launch: Launch, resolved: Resolved) -> Iterator[Finding]:
    """Report each name that nobody reads."""
    reading = reading_of(launch)
    if reading is None:
        return
    for variable in reading.variables:
        if variable.facts is None and variable.setting is None:
            yield _finding(variable)


def _finding(variable: NcclVariable) -> Finding:
    names = variable.suggestions
    meant = f"; did you mean {' or '.join(names)}?" if names else ""
    detail = "NCCL reports no unknown names: the setting has no effect."
    if variable.name == "NCCL_TIMEOUT":
        detail += " Time-outs are PyTorch's, an argument of the engine (`--dist-timeout`)."
    return Finding(
        RULE.name,
        Outcome.DEGRADES if names else Outcome.STARTS,
        f"{variable.name[:40]} is read by nobody{meant}"[:100],
        detail=detail,
        severity=Severity.WARNING,
        values=(variable.as_value(),),
        remedies=(
            *(set_to(name, variable.value or "", safe=False) for name in names),
            unset(variable.name),
        ),
    )


RULE = Rule(
    name="nccl-variable-unknown",
    summary="a variable is called like NCCL's and nobody is known to read it",
    since="0.1.0",
    engines=("sglang", "vllm"),
    check=check,
)
