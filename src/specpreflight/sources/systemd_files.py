"""The drop-ins of a systemd unit: which files add to it, in the order in which they are read."""

from __future__ import annotations

from collections.abc import Iterator
from glob import glob
from pathlib import Path
from typing import Final

#: Where a system unit and its drop-ins may stand, the winning place first (systemd.unit(5)).
_PLACES: Final = tuple(
    Path(place)
    for place in (
        "/etc/systemd/system",
        "/run/systemd/system",
        "/usr/local/lib/systemd/system",
        "/usr/lib/systemd/system",
        "/lib/systemd/system",
    )
)


def find_drop_ins(unit: Path) -> list[Path]:
    """Return the `*.conf` files that add to a unit, sorted by name whatever folder they are in.

    Restates `src/shared/dropin.c:unit_file_find_dirs` (systemd 252). Looked for beside the unit,
    and in all of systemd's folders if it stands in one of them; of two files with one name the
    first wins, and an empty one or a link to /dev/null only hides the others.
    """
    places = [unit.parent, *(one for one in _PLACES if one != unit.parent)]
    if unit.parent not in _PLACES:
        places = [unit.parent]
    found: dict[str, Path] = {}
    for place in places:
        for folder in _folders(unit.name):
            for path in _files(place / folder):
                found.setdefault(path.name, path)
    for path in (path for place in places for path in _files(place / f"{unit.suffix[1:]}.d")):
        found.setdefault(path.name, path)
    return [path for _, path in sorted(found.items()) if path.is_file()]


def expand_wildcard(name: str) -> list[str]:
    """Return the files that an EnvironmentFile= names, sorted; itself where it is no pattern."""
    if not Path(name).is_absolute() or not any(mark in name for mark in "*?["):
        return [name]
    return sorted(glob(name))  # noqa: PTH207 (as glob(3) does: no `**`, no hidden files)


def _folders(name: str) -> Iterator[str]:
    """Yield the folders for a unit's name, for its template, and for its name cut at a dash."""
    yield f"{name}.d"
    stem, _, suffix = name.rpartition(".")
    prefix, _, instance = stem.partition("@")
    if instance:
        yield from _folders(f"{prefix}@.{suffix}")
    dash = prefix.rfind("-", 0, len(prefix) - 1)
    if dash > 0:
        instance = f"@{instance}" if instance else ""
        yield from _folders(f"{prefix[: dash + 1]}{instance}.{suffix}")


def _files(folder: Path) -> list[Path]:
    return sorted(folder.glob("*.conf")) if folder.is_dir() else []
