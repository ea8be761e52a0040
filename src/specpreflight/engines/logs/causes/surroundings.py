"""Causes around the engine: Hub, disk, driver; and what only shows while serving."""

from __future__ import annotations

from typing import Final

from specpreflight.engines.logs.causes.shape import Cause, cause

SURROUNDINGS: Final[tuple[Cause, ...]] = (
    cause("L-HUB-GATED", r"GatedRepoError|You are trying to access a gated repo", "CFG|DCFG"),
    cause("L-HUB-REV", r"RevisionNotFoundError|is not a valid git identifier", "CFG|DCFG"),
    cause(
        "L-HUB-404",
        r"RepositoryNotFoundError|(?P<checkpoint>\S+) is not a local folder and is not a valid "
        r"model identifier|HFValidationError: Repo id must be in the form.*?: "
        r"'(?P<checkpoint_>[^']+)'",
        "CFG|DCFG",
    ),
    cause(
        "L-HUB-OFFLINE",
        r"OfflineModeIsEnabled|LocalEntryNotFoundError|We couldn't connect to "
        r"'(?P<endpoint>[^']+)'",
        "CFG|DCFG",
    ),
    cause("L-OS-SPACE", r"No space left on device(?: \(os error 28\))?(?:: '(?P<path>[^']+)')?"),
    cause("L-OS-PERM", r"PermissionError(?:.*?Permission denied: '(?P<path>[^']+)')?"),
    cause(
        "L-OS-PORT",
        r"[Aa]ddress already in use|error while attempting to bind on address "
        r"\('(?P<host>[^']+)', (?P<port>\d+)\)",
        "ARG",
    ),
    cause(
        "L-ENV-CUDA",
        r"No CUDA GPUs are available|invalid device ordinal|no kernel image is available|"
        r"The NVIDIA driver on your system is too old \(found version (?P<driver>\d+)\)",
    ),
    cause(
        "L-ENV-IMPORT",
        r"ImportError: .*undefined symbol: (?P<symbol>\w+)|ModuleNotFoundError: No module named "
        r"'(?P<module>[^']+)'|(?P<package>[\w-]+) is installed with version (?P<installed>\S+), "
        r"which is less than the minimum required version (?P<required>\S+)",
    ),
    cause("L-RUN-LEAK", r"memory leak detected|Mem Leak Detected", "RUN", None, "sglang"),
    cause(
        "L-VL-NUMEL",
        r"'NoneType' object has no attribute 'numel'",
        "RUN",
        "vllm-length-changed",
        "vllm",
    ),
    cause(
        "L-CFG-DRAFTARCHNULL",
        r"'NoneType' object is not subscriptable|list index out of range",
        "DCFG",
        "config-inconsistent",
        "sglang",
        r"speculative/.*model_config\.py:",
    ),
    cause("L-VL-ROPE", r"device-side assert triggered", "RUN", "vllm-length-changed", "vllm"),
    cause(
        "L-CTX-RUN",
        r"device-side assert triggered|illegal memory access",
        "RUN",
        "draft-context-shorter",
        "sglang",
    ),
)
