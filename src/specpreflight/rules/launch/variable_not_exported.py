"""A variable that is meant for the engine is set in the shell, but not exported.

## What it checks
Whether a script sets a variable that the engine, NCCL, CUDA or PyTorch reads (`SGLANG_…`,
`VLLM_…`, `NCCL_…`, `CUDA_…`) without `export`, and does not hand it on in another way.

## What the engine does
Nothing: the variable stays in the shell, and the server starts with its default.

## Example
`NCCL_P2P_LEVEL=SYS` on a line of its own, `sglang serve …` on the next.

## Fix
Write `export NCCL_P2P_LEVEL=SYS`, or put the assignment in front of the command on its line.

## Fix safety
Nothing is edited.

## How sure
Certain, as far as the script is followed: it is how the shell builds a process's environment.

## References
Bash reference manual, 3.7.4 (environment).
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from specpreflight.models.command import Command
from specpreflight.models.finding import Finding, Origin, Outcome, Remedy, Stage, Value
from specpreflight.models.launch import Launch
from specpreflight.models.resolved import Resolved
from specpreflight.rules.rule import Rule

_READ_BY_A_SERVER = re.compile(
    r"(NCCL|SGLANG|SGL|VLLM|CUDA|CUTLASS|FLASHINFER|TORCH|PYTORCH|TRITON|HF|TRANSFORMERS|OMP|GLOO"
    r"|UCX|NVIDIA|NVSHMEM|TOKENIZERS|SAFETENSORS|HCCL|ASCEND)_\w+"
)


def check(launch: Launch, resolved: Resolved) -> Iterator[Finding]:
    """Report each such variable that the engine's process does not have."""
    command = launch.facts.get("command")
    if not isinstance(command, Command):
        return
    words = " ".join(command.argv)
    for variable in command.unexported:
        name, value = variable.name, variable.value
        used = value is not None and len(value) > 1 and value in words
        if not _READ_BY_A_SERVER.fullmatch(name) or name in launch.environment or used:
            continue
        yield Finding(
            RULE.name,
            Outcome.DEGRADES,
            f"`{name}` is set but not exported: the engine never sees it",
            stage=Stage.ARGUMENTS,
            detail="The shell keeps it to itself, so the server starts as if it were not set.",
            values=(
                Value(
                    name,
                    value,
                    Origin("file", path=variable.origin.path, line=variable.origin.line),
                ),
            ),
            remedies=(
                Remedy(
                    f"export {name}",
                    "environment",
                    "unsafe",
                    environment={} if value is None else {name: value},
                ),
            ),
        )


RULE = Rule(
    name="variable-not-exported",
    summary="a variable for the engine is set in the shell, but not exported",
    since="0.1.0",
    engines=(),
    check=check,
)
