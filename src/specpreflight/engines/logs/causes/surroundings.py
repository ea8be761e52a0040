"""Causes around the engine: Hub, disk, driver; and what only shows while serving."""

from __future__ import annotations

from typing import Final

from specpreflight.engines.logs.causes.shape import Cause, cause

SURROUNDINGS: Final[tuple[Cause, ...]] = (
    cause(
        "L-HUB-GATED",
        r"(?:GatedRepoError|You are trying to access a gated repo)"
        r"(?:.*?https?://[^/\s]+/(?P<checkpoint>[\w.-]+/[\w.-]*\w))?",
        "CFG|DCFG",
    ),
    cause(
        "L-HUB-REV",
        r"(?P<revision>\S+) is not a valid git identifier|RevisionNotFoundError"
        r"(?:.*?Revision Not Found for url: \S*?/resolve/(?P<revision_>[^/\s]+))?",
        "CFG|DCFG",
    ),
    cause(
        "L-HUB-404",
        r"RepositoryNotFoundError(?:.*?Not Found for url: https?://[^/\s]+/(?:api/models/)?"
        r"(?P<checkpoint>[\w.-]+/[\w.-]*\w))?|(?P<checkpoint_>\S+) is not a local folder and is "
        r"not a valid model identifier|HFValidationError: Repo id must be in the form.*?: "
        r"'(?P<checkpoint__>[^']+)'",
        "CFG|DCFG",
    ),
    cause(
        "L-HUB-OFFLINE",
        r"OfflineModeIsEnabled(?:: Cannot reach (?P<endpoint>\S+?): )?|LocalEntryNotFoundError|"
        r"We couldn't connect to '(?P<endpoint_>[^']+)'",
        "CFG|DCFG",
    ),
    cause("L-OS-SPACE", r"No space left on device(?: \(os error 28\))?(?:: '(?P<path>[^']+)')?"),
    cause(
        "L-OS-PERM",
        r"PermissionError(?: at (?P<path>\S+) when downloading|"
        r".*?Permission denied: '(?P<path_>[^']+)')?",
    ),
    cause(
        "L-OS-PORT",
        r"error while attempting to bind on address \('(?P<host>[^']+)', (?P<port>\d+)\)|"
        r"[Aa]ddress already in use",
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
        r"which is less than the minimum required version (?P<required>[\w.]*\w)",
    ),
    cause(
        "L-RUN-LEAK",
        r"memory leak detected(?:! available_size=(?P<available_size>\d+)"
        r"(?:, protected_size=(?P<protected_size>\d+))?)?|Mem Leak Detected",
        "RUN",
        None,
        "sglang",
    ),
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
    cause(
        "L-VL-ROPE",
        r"device-side assert triggered|"
        r"index out of bounds: 0 <= \S*tmp\S* *< (?P<draft_context>\d+)",
        "RUN",
        "vllm-length-changed",
        "vllm",
    ),
    cause(
        "L-CTX-RUN",
        r"device-side assert|illegal memory access",
        "RUN",
        "draft-context-shorter",
        "sglang",
    ),
)
