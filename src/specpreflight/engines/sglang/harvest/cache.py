"""Facts of a user's tree, kept between checks.

An entry is one file, named after the tree's path, with the size and modification time of every
file that the facts were read from and of the folders they stand in: a change of any of them, a new
or a removed file, or another version of this harvest makes it stale.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from specpreflight.engines.sglang.harvest.engine import Facts

_OWN_FILES = Path(__file__).parent


def cache_folder() -> Path:
    """Return `$XDG_CACHE_HOME/specpreflight`, by default `~/.cache/specpreflight`."""
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "specpreflight"


def find_facts(root: Path) -> Facts | None:
    """Return the facts that are kept for the tree at `root`, `None` where they are stale."""
    try:
        entry = json.loads(_entry(root).read_bytes())
        stamps, facts = entry["stamps"], entry["facts"]
    except (OSError, ValueError, KeyError, TypeError):
        return None
    if entry.get("reader") != _reader() or any(
        _stamp(root / name) != stamp for name, stamp in stamps.items()
    ):
        return None
    found: Facts = facts
    return found


def keep_facts(root: Path, seen: Iterable[Path], facts: Facts) -> None:
    """Keep `facts`; a cache that can't be written is no failure of a check."""
    paths = {*seen, *(path.parent for path in seen)}
    stamps = {
        path.relative_to(root).as_posix(): _stamp(path)
        for path in sorted(paths)
        if path.is_relative_to(root)
    }
    data = json.dumps({"reader": _reader(), "stamps": stamps, "facts": facts})
    place = _entry(root)
    with contextlib.suppress(OSError):
        place.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile("w", dir=place.parent, delete=False) as scratch:
            scratch.write(data)
        Path(scratch.name).replace(place)


def _entry(root: Path) -> Path:
    name = hashlib.sha256(str(root.resolve()).encode()).hexdigest()[:24]
    return cache_folder() / "sglang" / f"{name}.json"


def _stamp(path: Path) -> list[int] | None:
    try:
        status = path.stat()
    except OSError:
        return None
    return [0 if path.is_dir() else status.st_size, status.st_mtime_ns]


def _reader() -> Any:
    """Return what identifies this version of the harvest."""
    return [[path.name, *(_stamp(path) or ())] for path in sorted(_OWN_FILES.rglob("*.py"))]
