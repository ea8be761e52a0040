"""Releases of NCCL: how they are written, and which one a torch release brings."""

from __future__ import annotations

import re
from typing import Final

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
