"""Facts of a user's tree, kept between checks.

An entry is one file, named after the tree's path, with the size and modification time of every
file that the facts were read from and of the folders they stand in: a change of any of them, a new
or a removed file, or another version of this harvest makes it stale.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import json
import os
import stat
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from specpreflight.engines.sglang.harvest.engine import Facts

_OWN_FILES = Path(__file__).parent
#: What this process has read already, by tree; stale entries are found by their stamps like any.
_READ: dict[Path, dict[str, Any]] = {}


def cache_folder() -> Path:
    """Return `$XDG_CACHE_HOME/specpreflight`, by default `~/.cache/specpreflight`."""
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "specpreflight"


def find_facts(root: Path) -> Facts | None:
    """Return the facts that are kept for the tree at `root`, `None` where they are stale.

    As long as nothing changes, one process gets the same object each time.
    """
    entry = _READ.get(root) or _read(root)
    if entry is None or any(
        _stamp(f"{root}/{name}") != stamp for name, stamp in entry["stamps"].items()
    ):
        return None
    _READ[root] = entry
    found: Facts = entry["facts"]
    return found


def keep_facts(root: Path, seen: Iterable[Path], facts: Facts) -> None:
    """Keep `facts`; a cache that can't be written is no failure of a check."""
    paths = {*seen, *(path.parent for path in seen)}
    stamps = {
        path.relative_to(root).as_posix(): _stamp(str(path))
        for path in sorted(paths)
        if path.is_relative_to(root)
    }
    entry = {"reader": _reader(), "stamps": stamps, "facts": facts}
    _READ[root] = entry
    data = json.dumps(entry)
    place = _entry(root)
    with contextlib.suppress(OSError):
        place.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile("w", dir=place.parent, delete=False) as scratch:
            scratch.write(data)
        Path(scratch.name).replace(place)


def forget_facts(root: Path) -> None:
    """Drop what is kept of a tree that goes away itself."""
    _READ.pop(root, None)
    with contextlib.suppress(OSError):
        _entry(root).unlink()


def _entry(root: Path) -> Path:
    name = hashlib.sha256(str(root.resolve()).encode()).hexdigest()[:24]
    return cache_folder() / "sglang" / f"{name}.json"


def _read(root: Path) -> dict[str, Any] | None:
    try:
        entry = json.loads(_entry(root).read_bytes())
        known = entry["reader"] == _reader() and entry["stamps"] and entry["facts"]
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return dict(entry) if known else None


def _stamp(path: str) -> list[int] | None:
    try:
        status = Path(path).stat()
    except OSError:
        return None
    size = 0 if stat.S_ISDIR(status.st_mode) else status.st_size
    return [size, status.st_mtime_ns]


@functools.cache
def _reader() -> list[Any]:
    """Return what identifies this version of the harvest."""
    return [[path.name, *(_stamp(str(path)) or ())] for path in sorted(_OWN_FILES.rglob("*.py"))]
