"""A number is outside what NCCL can use.

## What it checks
Numbers beyond 32 bits (they wrap) or 64 bits (the default is taken), buffer sizes of zero or less
and below 4096 bytes, thread counts that are no multiple of 32 or outside their bounds, an
NCCL_IB_TIMEOUT above 31.

## What the engine does
Most numbers are not checked at all. NCCL_NTHREADS that is no multiple of 32 becomes the maximum of
512, not the default. NCCL_BUFFSIZE=2147483648 is narrowed to -2147483648.

## Example
`NCCL_NTHREADS=100`: 512 threads.

## Fix
Give a value inside the bounds, or unset the variable.

## Fix safety
Nothing is written.

## How sure
Proven: the arithmetic is restated and compared with NCCL's own; what a wrapped buffer size does
then is inferred.

## References
NVIDIA/nccl `src/graph/tuning.cc:getNthreads`, `src/init.cc:computeBuffSizes`.
"""

from __future__ import annotations

from collections.abc import Iterator

from specpreflight.models.finding import Confidence, Finding, Outcome, Stage
from specpreflight.models.launch import Launch
from specpreflight.models.nccl import NcclReading, NcclVariable, reading_of
from specpreflight.models.resolved import Resolved
from specpreflight.rules.nccl.wording import shown, unset
from specpreflight.rules.rule import Rule

_BUFFERS = {"NCCL_BUFFSIZE": "simple", "NCCL_LL_BUFFSIZE": "ll", "NCCL_LL128_BUFFSIZE": "ll128"}
_THREADS = {
    "NCCL_NTHREADS": (64, 512, "threads_tree_simple"),
    "NCCL_LL128_NTHREADS": (160, 640, "threads_ll128"),
}
_AUTOMATIC = -2
_SMALLEST_BUFFER = 4096
_INT32 = range(-(2**31), 2**31)


def check(launch: Launch, resolved: Resolved) -> Iterator[Finding]:
    """Report each number that NCCL changes or cannot work with."""
    reading = reading_of(launch)
    if reading is None:
        return
    for variable in reading.variables:
        if reading.in_force(variable.name) is None or variable.understood.kind != "int":
            continue
        number = variable.understood.number
        if number is None:
            if variable.understood.message:
                yield _changed(variable, "its default", "the number needs more than 64 bits")
        elif number == _AUTOMATIC or variable.understood.rest == variable.value:
            continue
        elif variable.name in _BUFFERS:
            yield from _buffer(variable, number, reading)
        elif variable.name in _THREADS:
            yield from _threads(variable, number, reading)
        elif variable.name == "NCCL_IB_TIMEOUT" and not 0 <= number <= 31:
            yield _changed(variable, "an invalid time-out", "the adapter takes 0 to 31")
        elif number not in _INT32 and variable.name != "NCCL_WORK_ARGS_BYTES":
            yield _changed(variable, "a wrapped number", "it is narrowed to 32 bits")


def _changed(variable: NcclVariable, taken: str, why: str) -> Finding:
    return Finding(
        RULE.name,
        Outcome.DEGRADES,
        f"{variable.name}=`{shown(variable.value)}` becomes {taken}: {why}",
        engine_message=variable.understood.message or None,
        values=(variable.as_value(),),
        remedies=(unset(variable.name),),
    )


def _buffer(variable: NcclVariable, number: int, reading: NcclReading) -> Iterator[Finding]:
    size = reading.resolved.get(f"buffer_{_BUFFERS[variable.name]}", number)
    tiny = isinstance(size, int) and 0 < size < _SMALLEST_BUFFER
    if not isinstance(size, int) or (tiny and variable.understood.rest.strip()):
        return
    if size >= _SMALLEST_BUFFER and number in _INT32:
        return
    yield Finding(
        RULE.name,
        Outcome.DEGRADES if tiny else Outcome.CRASHES,
        f"{variable.name}=`{shown(variable.value)}` makes a buffer of {size} bytes",
        stage=Stage.SERVING if tiny else Stage.WEIGHTS,
        confidence=Confidence.INFERRED,
        detail="NCCL does not check the size; an eighth of it is one step of a transfer.",
        values=(variable.as_value(),),
        remedies=(unset(variable.name),),
    )


def _threads(variable: NcclVariable, number: int, reading: NcclReading) -> Iterator[Finding]:
    least, most, key = _THREADS[variable.name]
    taken = reading.resolved.get(key)
    if number <= 0 or number == taken:
        return
    yield Finding(
        RULE.name,
        Outcome.DEGRADES,
        f"{variable.name}={number} becomes {taken}: multiples of 32 from {least} to {most}",
        values=(variable.as_value(),),
        remedies=(unset(variable.name),),
    )


RULE = Rule(
    name="nccl-number-out-of-range",
    summary="a number is outside what NCCL can use",
    since="0.1.0",
    engines=("sglang", "vllm"),
    check=check,
)
