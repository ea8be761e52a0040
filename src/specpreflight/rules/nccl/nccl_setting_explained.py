"""What each NCCL variable that is set does, and what it costs.

## What it checks
Every NCCL variable that the release understands: what it makes of the value, and what follows.

## What the engine does
NCCL prints what it understood only with NCCL_DEBUG=INFO, and never what a setting is good for.

## Example
`NCCL_BUFFSIZE=16777216 NCCL_PROTO=LL`: 16 MiB for the Simple protocol, which LL does not use.

## Fix
Nothing to fix; shown with `-v` and by `env show`.

## Fix safety
Nothing is written.

## How sure
The value is proven; advice on speed is from NCCL's own tuning model and public measurements.

## References
NCCL user guide, environment variables; NVIDIA/nccl `src/graph/tuning.cc`, `src/init.cc`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from specpreflight.models.finding import Finding, Outcome
from specpreflight.models.launch import Launch
from specpreflight.models.nccl import NcclReading, NcclVariable, reading_of
from specpreflight.models.resolved import Resolved
from specpreflight.rules.nccl.wording import shown
from specpreflight.rules.rule import Rule

_MIB = 2**20
_LL128_BYTES, _LL_BYTES = 4915200, 524288


def check(launch: Launch, resolved: Resolved) -> Iterator[Finding]:
    """Yield a note for each variable that is understood."""
    reading = reading_of(launch)
    if reading is None:
        return
    for variable in reading.variables:
        if variable.facts is None or variable.effect not in ("used", "default"):
            continue
        explain = _EXPLAIN.get(variable.name, _meaning)
        yield Finding(
            RULE.name,
            Outcome.STARTS,
            f"{variable.name}=`{shown(variable.value)}`: {_understood(variable)}"[:100],
            detail=explain(variable, reading),
            values=(variable.as_value(),),
        )


def _understood(variable: NcclVariable) -> str:
    understood = variable.understood
    if understood.effect == "default":
        return "NCCL's default"
    if understood.kind in ("algo", "proto"):
        return understood.text.replace("all:", "for all collectives only ")
    if understood.text == variable.value and understood.kind != "text":
        return "taken as written"
    return understood.text if understood.text != variable.value else "taken as written"


def _meaning(variable: NcclVariable, reading: NcclReading) -> str:
    facts = variable.facts
    if facts is None:
        return ""
    if facts.owner != "libnccl":
        return f"Read by {facts.owner}, not by NCCL."
    text = facts.meaning[:1].upper() + facts.meaning[1:] + "." if facts.meaning else ""
    return f"{text} Deprecated: {facts.deprecated}." if facts.deprecated else text


def _protocols(variable: NcclVariable, reading: NcclReading) -> str:
    if variable.understood.text == "all:LL":
        return (
            "LL has the lowest latency and at most half of the bandwidth. NCCL takes it for small "
            "messages by itself, so forcing it can only change large ones: decode gains nothing, "
            "prefill chunks get slower. NVLS, PAT and CollNet need Simple and are off. Send and "
            "receive are not governed. `^LL128` keeps the choice."
        )
    return "Send and receive are not governed: there LL is taken up to NCCL_P2P_LL_THRESHOLD."


def _algorithms(variable: NcclVariable, reading: NcclReading) -> str:
    if variable.understood.text == "all:Ring":
        return (
            "Ring exists for every collective, so nothing fails; Tree is gone for AllReduce, "
            "which the tuning model rates about equal on one node. "
            "`--enable-deterministic-inference` would replace it."
        )
    return _meaning(variable, reading)


def _level(variable: NcclVariable, reading: NcclReading) -> str:
    if variable.understood.text == "SYS":
        return (
            "P2P over every path, also between sockets; the default without NVLink is PXB, so "
            "this is a real change. Inside a socket it can be faster; between sockets it was "
            "measured at a tenth of the speed, and it hangs where ACS or the IOMMU redirects. "
            "Give --hardware with `nvidia-smi topo -m` to have it checked."
        )
    if variable.understood.text == "NVL":
        return "P2P over NVLink only: on a machine without it P2P is off, and memory is shared."
    return _meaning(variable, reading)


def _maximum(variable: NcclVariable, reading: NcclReading) -> str:
    return (
        "A ceiling only: NCCL finds 2 to 8 channels on a PCIe machine, where 16 changes nothing; "
        "to raise the count set NCCL_MIN_NCHANNELS. Deprecated in 2.17 for NCCL_MAX_CTAS."
    )


def _buffer(variable: NcclVariable, reading: NcclReading) -> str:
    size = reading.resolved.get("buffer_simple", 0)
    total = (size + _LL128_BYTES + _LL_BYTES) / _MIB if isinstance(size, int) else 0
    text = (
        f"The FIFO of the Simple protocol, {size} bytes: {total:.1f} MiB for each channel, "
        "connection and communicator with the other two FIFOs, outside --mem-fraction-static."
    )
    protocols = reading.variable("NCCL_PROTO")
    sets = protocols.understood.sets.values() if protocols else ()
    if sets and not any("Simple" in words for words in sets):
        text += " NCCL_PROTO leaves Simple out: collectives do not use it, yet it is allocated."
        text += " LL's own is NCCL_LL_BUFFSIZE."
    return text


def _threads(variable: NcclVariable, reading: NcclReading) -> str:
    text = "CUDA threads per block for LL and Simple; 512 is the maximum and LL's default"
    return f"{text}, 256 is Simple's on a ring of 12 GB/s or less. LL128 has its own variable."


def _p2p_off(variable: NcclVariable, reading: NcclReading) -> str:
    if variable.understood.text != "LOC":
        return _meaning(variable, reading)
    return (
        "NCCL goes through shared memory. The engine's own P2P users do not look at this: where "
        "P2P is broken, add --disable-custom-all-reduce."
    )


_EXPLAIN: dict[str, Callable[[NcclVariable, NcclReading], str]] = {
    "NCCL_PROTO": _protocols,
    "NCCL_ALGO": _algorithms,
    "NCCL_P2P_LEVEL": _level,
    "NCCL_P2P_DISABLE": _p2p_off,
    "NCCL_MAX_NCHANNELS": _maximum,
    "NCCL_BUFFSIZE": _buffer,
    "NCCL_NTHREADS": _threads,
}

RULE = Rule(
    name="nccl-setting-explained",
    summary="what each NCCL variable that is set does, and what it costs",
    since="0.1.0",
    engines=("sglang", "vllm"),
    check=check,
)
