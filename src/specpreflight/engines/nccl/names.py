"""Names that look like NCCL's and are not: whose they are, or what was probably meant."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import SequenceMatcher
from typing import Final

from specpreflight.engines.nccl.table import names_at
from specpreflight.models.nccl import Release

#: Seen in public scripts (and in two of NCCL's own messages), with what was meant.
_ALIASES: Final = {
    "NCCL_MIN_CHANNELS": ("NCCL_MIN_NCHANNELS", "NCCL_MIN_CTAS"),
    "NCCL_MAX_CHANNELS": ("NCCL_MAX_NCHANNELS", "NCCL_MAX_CTAS"),
    "NCCL_NCHANNELS": ("NCCL_MIN_NCHANNELS", "NCCL_MAX_NCHANNELS"),
    "NCCL_NUM_CHANNELS": ("NCCL_MIN_NCHANNELS", "NCCL_MAX_NCHANNELS"),
    "NCCL_BUFFER_SIZE": ("NCCL_BUFFSIZE",),
    "NCCL_BUFF_SIZE": ("NCCL_BUFFSIZE",),
    "NCCL_IB_TIME_OUT": ("NCCL_IB_TIMEOUT",),
    "NCCL_IB_SCA": ("NCCL_IB_HCA",),
    "NCCL_SOCKET_IFACE": ("NCCL_SOCKET_IFNAME",),
    "NCCL_IFNAME": ("NCCL_SOCKET_IFNAME",),
    "NCCL_MAX_P2P_PEERS": ("NCCL_P2P_MAX_PEERS",),
    "NCCL_MAX_CGA_CLUSTER_SIZE": ("NCCL_CGA_CLUSTER_SIZE",),
    "NCCL_MNNVL": ("NCCL_MNNVL_ENABLE",),
    "NCCL_PROTOCOL": ("NCCL_PROTO",),
    "NCCL_ALGORITHM": ("NCCL_ALGO",),
    "NCCL_DEBUG_LEVEL": ("NCCL_DEBUG",),
    "NCCL_NVLS": ("NCCL_NVLS_ENABLE",),
    "NCCL_CUMEM": ("NCCL_CUMEM_ENABLE",),
}

#: Legitimate names of somebody else, and who that is; a trailing `*` is a prefix.
_OTHERS: Final = {
    "NCCL_VERSION": "NVIDIA's CUDA images",
    "NCCL_HOME": "builds",
    "NCCL_ROOT": "builds",
    "NCCL_ROOT_DIR": "builds",
    "NCCL_LIB_DIR": "builds",
    "NCCL_INCLUDE_DIR": "builds",
    "NCCL_INCLUDE_PATH": "builds",
    "NCCL_LIBRARY": "builds",
    "NCCL_LIBRARY_PATH": "builds",
    "NCCL_INSTALL_PATH": "builds",
    "NCCL_BLOCKING_WAIT": "PyTorch (now TORCH_NCCL_BLOCKING_WAIT)",
    "NCCL_ASYNC_ERROR_HANDLING": "PyTorch (now TORCH_NCCL_ASYNC_ERROR_HANDLING)",
    "NCCL_DESYNC_DEBUG": "PyTorch (now TORCH_NCCL_DESYNC_DEBUG)",
    "NCCL_ENABLE_TIMING": "PyTorch (now TORCH_NCCL_ENABLE_TIMING)",
    "NCCL_TUNER_CONFIG_FILE": "the example tuner plugin",
    "NCCL_TUNER_CONFIG_PATH": "Google's tuner plugin",
    "NCCL_SHIMNET_*": "Google's network plugin",
    "NCCL_IBEXT_DISABLE": "NVIDIA's RDMA-SHARP plugin",
    "NCCL_NCHANNELS_PER_PEER": "forks of NCCL",
    "NCCL_EP_*": "NCCL EP",
    "NCCL_RESHARD_*": "NCCL resharding",
    "NCCL_CHECKPOINT_*": "NCCL checkpointing",
    "NCCL_INSPECTOR_*": "the inspector profiler plugin",
    "NCCL_PROFILE_*": "the example profiler plugin",
    "NCCL_PROFILER_CE_*": "the example profiler plugin",
    "NCCL_FASTRAK_*": "Google's network plugin",
    "NCCL_GPUDIRECTTCPX_*": "Google's network plugin",
    "NCCL_GPUVIZ_*": "Google's network plugin",
    "NCCL_SHARP_*": "NVIDIA's SHARP plugin",
    "NCCL_UCX_*": "NVIDIA's UCX plugin",
}


def find_owner(name: str) -> str | None:
    """Return who else reads a name, `None` where nobody is known."""
    for pattern, owner in _OTHERS.items():
        if name == pattern or (pattern.endswith("*") and name.startswith(pattern[:-1])):
            return owner
    return None


def suggest_names(name: str, release: Release) -> tuple[str, ...]:
    """Return the names that were probably meant, best first, at most two."""
    known = set(names_at(release))
    upper = name.upper()
    if upper in known and upper != name:
        return (upper,)
    if upper in _ALIASES:
        return tuple(meant for meant in _ALIASES[upper] if meant in known)
    return nearest(upper, known)


def nearest(name: str, known: Iterable[str]) -> tuple[str, ...]:
    """Return the known names at most two edits away or differing in one segment only a little."""
    close = []
    for candidate in known:
        distance = edit_distance(name, candidate, 2)
        if distance <= 2 or set(name.split("_")) == set(candidate.split("_")):
            ratio = SequenceMatcher(None, name, candidate).ratio()
            close.append((distance, -ratio, candidate))
    return tuple(candidate for _, _, candidate in sorted(close)[:2])


def edit_distance(left: str, right: str, limit: int) -> int:
    """Return the number of insertions, deletions, changes and swaps, or `limit + 1` if more."""
    if abs(len(left) - len(right)) > limit:
        return limit + 1
    before: list[int] = []
    previous = list(range(len(right) + 1))
    for row, letter in enumerate(left, start=1):
        current = [row]
        for column, other in enumerate(right, start=1):
            cost = min(
                previous[column] + 1,
                current[column - 1] + 1,
                previous[column - 1] + (letter != other),
            )
            swapped = row > 1 and column > 1
            if swapped and letter == right[column - 2] and left[row - 2] == other:
                cost = min(cost, before[column - 2] + 1)
            current.append(cost)
        if min(current) > limit:
            return limit + 1
        before, previous = previous, current
    return min(previous[-1], limit + 1)
