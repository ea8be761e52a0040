"""Another NCCL library, or a plugin that answers for the environment, may run instead.

## What it checks
SGLANG_NCCL_SO_PATH, VLLM_NCCL_SO_PATH, an LD_PRELOAD with libnccl, NCCL_ENV_PLUGIN.

## What the engine does
The first three load another libnccl than the one that torch pins, so the release this report
predicts for may not be the one that runs. An environment plugin (2.28.7 and newer) answers every
look-up itself; what is set may then mean nothing.

## Example
`VLLM_NCCL_SO_PATH=/usr/lib/x86_64-linux-gnu/libnccl.so.2`

## Fix
Give the release that runs: `--nccl 2.27.5`.

## Fix safety
Nothing is written.

## How sure
Proven.

## References
SGLang `srt/distributed/device_communicators/pynccl_wrapper.py`, vLLM `vllm/utils/nccl.py`;
NVIDIA/nccl `src/plugin/env.cc`.
"""

from __future__ import annotations

from collections.abc import Iterator

from specpreflight.models.finding import Finding, Outcome, Value
from specpreflight.models.launch import Launch
from specpreflight.models.nccl import reading_of
from specpreflight.models.resolved import Resolved
from specpreflight.rules.rule import Rule

_PATHS = {"sglang": "SGLANG_NCCL_SO_PATH", "vllm": "VLLM_NCCL_SO_PATH"}


def check(launch: Launch, resolved: Resolved) -> Iterator[Finding]:
    """Report what makes the NCCL release of this report uncertain."""
    reading = reading_of(launch)
    if reading is None or "--nccl" in reading.determined_by:
        return
    for name in (_PATHS.get(launch.engine.name, ""), "LD_PRELOAD"):
        known = launch.environment.get(name)
        if known is None or not known.value or (name == "LD_PRELOAD" and "nccl" not in known.value):
            continue
        yield Finding(
            RULE.name,
            Outcome.STARTS,
            f"{name} loads another NCCL than {reading.release}, which this report assumes",
            values=(Value(name, known.value, known.origin),),
        )
    plugin = reading.variable("NCCL_ENV_PLUGIN")
    if plugin is not None and plugin.value not in (None, "", "none"):
        yield Finding(
            RULE.name,
            Outcome.STARTS,
            "NCCL_ENV_PLUGIN answers for the environment: other values may be used",
            values=(plugin.as_value(),),
        )


RULE = Rule(
    name="nccl-library-replaced",
    summary="another NCCL, or a plugin that answers for the environment, may run instead",
    since="0.1.0",
    engines=("sglang", "vllm"),
    check=check,
)
