"""Releases of NCCL: how they are written, and which one a torch release brings."""

from __future__ import annotations

import re
from typing import Final

from packaging.version import InvalidVersion, Version

from specpreflight.errors import UsageError
from specpreflight.models.nccl import Release

#: The newest release whose source was read; a newer one is assumed to behave like it.
NEWEST_READ: Final = Release(2, 30, 7)

#: NCCL pins in the metadata of torch's Linux wheels on PyPI (`nvidia-nccl-cu12`/`-cu13`), by the
#: first torch release that has it.
_TORCH_PINS: Final = (
    ((2, 3), Release(2, 20, 5)),
    ((2, 5), Release(2, 21, 5)),
    ((2, 7), Release(2, 26, 2)),
    ((2, 8), Release(2, 27, 3)),
    ((2, 9), Release(2, 27, 5)),
    ((2, 11), Release(2, 28, 9)),
    ((2, 12), Release(2, 29, 7)),
    ((2, 14), Release(2, 30, 7)),
)
_NEWEST_TORCH_READ: Final = (2, 14)

#: torch pins in the metadata of the engines' wheels, by the first release that has it.
_ENGINE_PINS: Final = {
    "sglang": (
        ("0.4.6.post5", "2.6.0"),
        ("0.4.7", "2.7.1"),
        ("0.5.1", "2.8.0"),
        ("0.5.6", "2.9.1"),
        ("0.5.11", "2.11.0"),
        ("0.5.18", "2.13.0"),
        ("0.5.22", "2.14.1"),
    ),
    "vllm": (
        ("0.8.5", "2.6.0"),
        ("0.9.0", "2.7.0"),
        ("0.10.2", "2.8.0"),
        ("0.11.1", "2.9.0"),
        ("0.17.0", "2.10.0"),
        ("0.20.0", "2.11.0"),
        ("0.27.0", "2.13.0"),
        ("0.33.0", "2.14.0"),
    ),
}


def parse_release(text: str) -> Release:
    """Read `2.27.5`, `v2.27.5-1`, `2.27.5+cuda12.9`, `2.27` or NCCL's own code `22705`.

    Raises:
        UsageError: it is none of these.
    """
    if match := re.fullmatch(r"v?2\.(\d{1,2})(?:\.(\d{1,2}))?(?:[-+.].*)?", text.strip()):
        return Release(2, int(match[1]), int(match[2] or 0))
    if match := re.fullmatch(r"2(\d{2})(\d{2})", text.strip()):
        return Release(2, int(match[1]), int(match[2]))
    raise UsageError(
        f"--nccl {text}: not an NCCL release",
        hint="write --nccl 2.27.5 (python -c 'import torch; print(torch.cuda.nccl.version())')",
    )


def release_of_torch(torch: str) -> Release | None:
    """Return the NCCL that torch's Linux wheels from PyPI pin, `None` where it is not known."""
    match = re.match(r"(\d+)\.(\d+)", torch)
    if match is None:
        return None
    wanted = (int(match[1]), int(match[2]))
    if wanted > _NEWEST_TORCH_READ:
        return None
    found = None
    for first, release in _TORCH_PINS:
        if wanted >= first:
            found = release
    return found


def torch_of_engine(engine: str, version: str) -> str | None:
    """Return the torch release that an engine release pins, `None` where it is not known."""
    try:
        wanted = Version(version)
    except InvalidVersion:
        return None
    found = None
    for first, torch in _ENGINE_PINS.get(engine, ()):
        if wanted >= Version(first):
            found = torch
    return found


def determine_release(
    wanted: str | None, installed: str | None, engine: str, engine_version: str
) -> tuple[Release, str]:
    """Return the NCCL release to read the environment with, and how it was found.

    In this order: `--nccl`, the package that is installed beside the engine, the torch that the
    engine release pins, else the newest release whose source was read.

    Raises:
        UsageError: `wanted` is no release.
    """
    if wanted is not None:
        return parse_release(wanted), "--nccl"
    if installed is not None:
        return parse_release(installed), "the installed nvidia-nccl package"
    torch = torch_of_engine(engine, engine_version)
    release = None if torch is None else release_of_torch(torch)
    if release is not None:
        return release, f"{engine} {engine_version} pins torch {torch}"
    return NEWEST_READ, "assumed: the newest release whose source was read"
