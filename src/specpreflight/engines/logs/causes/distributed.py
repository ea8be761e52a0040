"""Causes in the connections between ranks."""

from __future__ import annotations

from typing import Final

from specpreflight.engines.logs.causes.shape import Cause, cause

DISTRIBUTED: Final[tuple[Cause, ...]] = (
    cause(
        "L-NCCL-USAGE",
        r"(?:ncclInvalidUsage|NCCL error: invalid usage|(?=(?i:no algorithm/protocol available))|"
        r"(?=Duplicate GPU detected))(?:.*?(?i:no algorithm/protocol available) for function "
        r"(?P<function>\w+) with datatype (?P<datatype>\w+)"
        r"(?:\. NCCL_ALGO was set to (?P<nccl_algo>[^\n]+?)\.?$)?)?",
        "DIST",
        "nccl-collective-without-algorithm",
    ),
    cause(
        "L-NCCL-CUDA",
        r"(?:unhandled cuda error|ncclUnhandledCudaError|(?=Cuda failure|CUDA error \d))"
        r"(?:.*?(?:Cuda failure|CUDA error) (?P<number>\d+)(?: '(?P<text>[^']+)')?)?",
        "DIST",
    ),
    cause("L-NCCL-SYS", r"unhandled system error|ncclSystemError", "DIST"),
    cause(
        "L-DIST-STORE",
        r"Timed out after (?P<seconds>\d+) seconds waiting for clients\. (?P<joined>\d+)/"
        r"(?P<expected>\d+) clients joined|failed to listen on any local network address"
        r"(?:\. port: (?P<port>\d+))?",
        "DIST",
    ),
)
