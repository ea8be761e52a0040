"""A line of nccl.conf never counts, because the engine sets the variable first.

## What it checks
Variables from NCCL_CONF_FILE, ~/.nccl.conf or /etc/nccl.conf that the engine fills where the
environment lacks them.

## What the engine does
SGLang writes NCCL_CUMEM_ENABLE and NCCL_NVLS_ENABLE into the environment if they are not there; it
does not know NCCL's files. NCCL reads its files later and never overwrites what is set.

## Example
`NCCL_NVLS_ENABLE=1` in /etc/nccl.conf: SGLang has already set 0.

## Fix
Set the variable in the environment of the server.

## Fix safety
Nothing is written.

## How sure
Proven: the order of both is read from their source.

## References
NVIDIA/nccl `src/misc/param.cc:setEnvFile`; SGLang `srt/entrypoints/engine.py`.
"""

from __future__ import annotations

from collections.abc import Iterator

from specpreflight.models.finding import Finding, Origin, Outcome, Value
from specpreflight.models.launch import Launch
from specpreflight.models.nccl import reading_of
from specpreflight.models.resolved import Resolved
from specpreflight.rules.nccl.wording import set_to, shown
from specpreflight.rules.rule import Rule


def check(launch: Launch, resolved: Resolved) -> Iterator[Finding]:
    """Report each conf line that comes too late."""
    reading = reading_of(launch)
    if reading is None:
        return
    for variable in reading.variables:
        path = variable.origin.path or ""
        setting = variable.setting
        if not path.endswith("nccl.conf") or setting is None or setting.overwrites:
            continue
        if setting.value == variable.value:
            continue
        yield Finding(
            RULE.name,
            Outcome.DEGRADES,
            f"{variable.name}=`{shown(variable.value)}` in {path[-24:]} comes too late",
            detail=f"{launch.engine.name} sets {setting.value} in {setting.function} before NCCL "
            "reads its files.",
            values=(
                variable.as_value(),
                Value("written", setting.value, Origin("engine", name=setting.function)),
            ),
            remedies=(set_to(variable.name, variable.value or ""),),
        )


RULE = Rule(
    name="nccl-conf-overruled",
    summary="a line of nccl.conf never counts, because the engine sets the variable first",
    since="0.1.0",
    engines=("sglang", "vllm"),
    check=check,
)
