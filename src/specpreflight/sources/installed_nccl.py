"""Which NCCL package is installed, found by the name of its metadata folder, never imported."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable
from pathlib import Path

_FOLDER = re.compile(r"nvidia_nccl_cu\d+-(\d+\.\d+\.\d+)[^/]*\.dist-info")


def find_installed_nccl(places: Iterable[str] | None = None) -> str | None:
    """Return the release of the first `nvidia-nccl-cu*` package on the path, `None` without one.

    `places` are folders that hold packages; by default those of this Python.
    """
    for place in sys.path if places is None else places:
        try:
            names = [path.name for path in Path(place or ".").iterdir()]
        except OSError:
            continue
        for name in names:
            match = _FOLDER.fullmatch(name)
            if match is not None:
                return match[1]
    return None
