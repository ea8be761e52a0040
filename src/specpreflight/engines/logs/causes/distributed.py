"""Causes in the connections between ranks."""

from __future__ import annotations

from typing import Final

from specpreflight.engines.logs.causes.shape import Cause, cause

DISTRIBUTED: Final[tuple[Cause, ...]] = (
    cause(
        "L-NCCL-USAGE",
        r"ncclInvalidUsage|NCCL error: invalid usage|No algorithm/protocol available for function "
        r"(?P<function>\w+) with datatype (?P<datatype>\w+)|Duplicate GPU detected",
        "DIST",
        "nccl-collective-without-algorithm",
    ),
    cause(
        "L-NCCL-CUDA", r"unhandled cuda error|(?:Cuda failure|CUDA error) (?P<number>\d+)", "DIST"
    ),
    cause("L-NCCL-SYS", r"unhandled system error|ncclSystemError", "DIST"),
    cause(
        "L-DIST-STORE",
        r"Timed out after (?P<seconds>\d+) seconds waiting for clients\. (?P<joined>\d+)/"
        r"(?P<expected>\d+) clients joined|failed to listen on any local network address",
        "DIST",
    ),
)
