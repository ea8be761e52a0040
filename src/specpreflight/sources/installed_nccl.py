"""Which NCCL is installed, found by names and metadata of packages, never imported."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable
from pathlib import Path

_FOLDER = re.compile(r"nvidia_nccl_cu\d+-(\d+\.\d+\.\d+)[^/]*\.dist-info")
_TORCH = re.compile(r"torch-[^-]+\.dist-info")
_REQUIRED = re.compile(r"^Requires-Dist: nvidia-nccl-cu\d+ ?\(?==(\d+\.\d+\.\d+)", re.MULTILINE)
_MAPPED = re.compile(r"(/\S*)/nvidia/nccl/lib/libnccl\.so\S*$", re.MULTILINE)


def find_installed_nccl(places: Iterable[str] | None = None) -> str | None:
    """Return the release of the first `nvidia-nccl-cu*` package, `None` without one.

    Where there is none, a torch package on the path says which one it was built for. `places` are
    folders that hold packages; by default those of this Python.
    """
    folders = [
        folder for place in (sys.path if places is None else places) for folder in _folders(place)
    ]
    for folder in folders:
        match = _FOLDER.fullmatch(folder.name)
        if match is not None:
            return match[1]
    for folder in folders:
        if _TORCH.fullmatch(folder.name):
            return _required_by(folder / "METADATA")
    return None


def find_nccl_of_process(pid: int, proc: Path = Path("/proc")) -> str | None:
    """Return the release of the library that a running process has loaded, `None` if unknown."""
    try:
        maps = (proc / str(pid) / "maps").read_text(errors="replace")
    except OSError:
        return None
    match = _MAPPED.search(maps)
    return None if match is None else find_installed_nccl([match[1]])


def _folders(place: str) -> list[Path]:
    try:
        return [path for path in Path(place or ".").iterdir() if path.name.endswith(".dist-info")]
    except OSError:
        return []


def _required_by(metadata: Path) -> str | None:
    try:
        match = _REQUIRED.search(metadata.read_text(encoding="utf-8", errors="replace"))
    except OSError:
        return None
    return None if match is None else match[1]
