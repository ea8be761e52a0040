"""The engine writes a variable itself, so your value is lost.

## What it checks
The variables that this release of the engine writes before NCCL starts, given its flags, against
what you set.

## What the engine does
SGLang up to 0.5.2 writes NCCL_CUMEM_ENABLE and NCCL_NVLS_ENABLE whatever you set; from 0.5.4.post3
on it only fills gaps, except with `--enable-symm-mem` or `--enable-nccl-nvls`. Deterministic
inference writes NCCL_ALGO (and the channel counts from 0.5.18 on). vLLM writes nine variables with
VLLM_BATCH_INVARIANT=1, and NCCL_CUMEM_ENABLE up to 0.10.1.

## Example
`NCCL_NVLS_ENABLE=1` with SGLang 0.5.2: the engine sets 0.

## Fix
Use the engine's flag (`--enable-nccl-nvls`), or remove the variable so that nobody relies on it.

## Fix safety
Nothing is written.

## How sure
Proven: read from the engine's wheels, release by release.

## References
SGLang `srt/entrypoints/engine.py:_set_envs_and_config`, `srt/arg_groups/attention_hook.py`;
vLLM `vllm/env_override.py`, `batch_invariant.py:override_envs_for_invariance`.
"""

from __future__ import annotations

from collections.abc import Iterator

from specpreflight.models.finding import Finding, Origin, Outcome, Remedy, Severity, Value
from specpreflight.models.launch import Launch
from specpreflight.models.nccl import reading_of
from specpreflight.models.resolved import Resolved
from specpreflight.rules.nccl.wording import shown, unset
from specpreflight.rules.rule import Rule

_FLAGS = {"NCCL_NVLS_ENABLE": "--enable-nccl-nvls", "NCCL_CUMEM_ENABLE": "--enable-symm-mem"}


def check(launch: Launch, resolved: Resolved) -> Iterator[Finding]:
    """Report each value that the engine replaces by another."""
    reading = reading_of(launch)
    if reading is None:
        return
    for variable in reading.variables:
        setting = variable.setting
        if variable.effect != "changed-by-engine" or setting is None:
            continue
        flag = _FLAGS.get(variable.name)
        remedies: tuple[Remedy, ...] = (unset(variable.name),)
        if flag is not None and launch.engine.name == "sglang" and variable.value == "1":
            remedies = (Remedy(f"use {flag}", "flag", "unsafe", flags=(flag,)), *remedies)
        yield Finding(
            RULE.name,
            Outcome.ADJUSTS,
            f"{variable.name}=`{shown(variable.value)}` is replaced by `{shown(setting.value)}`",
            severity=Severity.WARNING,
            detail=f"{launch.engine.name} {launch.engine.version} writes it in {setting.function}"
            + (f" ({setting.reason})." if setting.reason else "."),
            values=(
                variable.as_value(),
                Value("written", setting.value, Origin("engine", name=setting.function)),
            ),
            remedies=remedies,
        )


RULE = Rule(
    name="nccl-changed-by-engine",
    summary="the engine writes a variable itself, so your value is lost",
    since="0.1.0",
    engines=("sglang", "vllm"),
    check=check,
)
