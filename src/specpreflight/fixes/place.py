"""Where a fix may be written: never through a link out of the checkpoint, never into a cache."""

from __future__ import annotations

import os
import stat
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from specpreflight.errors import InputError


@dataclass(frozen=True, slots=True)
class WritePlace:
    """A file that may be replaced.

    Attributes:
        file: the file itself, links resolved.
        directory: the checkpoint's directory, which holds the journal.
        name: the file's name in that directory.
        other_names: how many hard links the file has beside this one; they keep the old content.
    """

    file: str
    directory: str
    name: str
    other_names: int = 0


def find_write_place(path: Path, name: str) -> WritePlace:
    """Return where the file that was read from `path` is to be written.

    Raises:
        InputError: it is in the Hub's cache, is a link out of its directory, is read-only, or is
            not there any more.
    """
    try:
        directory = path.parent.resolve(strict=True)
        file = path.resolve(strict=True)
        status = file.stat()
    except (OSError, RuntimeError) as error:  # a loop of links is a RuntimeError before 3.13
        raise InputError(f"{name}: not written: {error}", hint="check the path") from None
    if is_in_hub_cache(directory):
        raise InputError(
            f"{name}: not written: it belongs to the Hub's cache, whose files revisions share",
            hint="write a fixed copy with --copy-to DIR, and serve that",
        )
    if not file.is_relative_to(directory):
        raise InputError(
            f"{name}: not written: it is a link to {file}, outside of the checkpoint",
            hint="write a fixed copy with --copy-to DIR, or give the directory of that file",
        )
    if not status.st_mode & 0o222 or not os.access(file, os.W_OK):
        mode = stat.S_IMODE(status.st_mode)
        raise InputError(
            f"{name}: not written: the file is read-only (mode {mode:03o})",
            hint="make it writable (chmod u+w), or write a fixed copy with --copy-to DIR",
        )
    return WritePlace(str(file), str(directory), path.name, status.st_nlink - 1)


def is_in_hub_cache(directory: Path) -> bool:
    """Return whether a directory is below a snapshot of huggingface_hub's cache."""
    parts = directory.parts
    return any(
        part == "snapshots" and before.startswith(("models--", "datasets--", "spaces--"))
        for before, part in pairwise(parts)
    )
