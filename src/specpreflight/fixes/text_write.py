"""Write a text file in one step: the old content or the new, never half of it."""

from __future__ import annotations

import os
from pathlib import Path

from specpreflight.errors import InputError
from specpreflight.fixes.failures import write_problem
from specpreflight.storage import LOCAL

_NEW_FILE_MODE = 0o644


def write_text_file(path: Path, given: str, before: bytes | None, after: bytes) -> None:
    """Replace a file that held `before`, or make one that was not there (`None`).

    The new content goes to a temporary file beside it, is flushed, and takes the old one's place;
    mode, owner and attributes stay, and a link keeps pointing to the same file.

    Raises:
        InputError: the file changed since it was read, is a device, pipe or directory, or cannot
            be written; it is as it was.
    """
    try:
        target = Path(os.path.realpath(path))
        if target.exists() and not target.is_file():
            raise InputError(f"{given}: is no regular file; nothing is written")
        now = target.read_bytes() if target.exists() else None
        if now != before:
            raise InputError(f"{given}: changed since it was read; nothing is written")
        temporary = target.with_name(f".{target.name}.specpreflight.tmp")
        LOCAL.remove(str(temporary))
        try:
            if before is None:
                _create(temporary, after)
            else:
                LOCAL.create(str(temporary), after, str(target))
            LOCAL.rename(str(temporary), str(target))
            LOCAL.sync_directory(str(target.parent))
        finally:
            LOCAL.remove(str(temporary))
    except OSError as error:
        raise write_problem(given, error) from None


def _create(path: Path, data: bytes) -> None:
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0)
    descriptor = os.open(path, flags, _NEW_FILE_MODE)
    with open(descriptor, "wb") as stream:  # noqa: PTH123
        stream.write(data)
        stream.flush()
        LOCAL.sync(stream.fileno())
