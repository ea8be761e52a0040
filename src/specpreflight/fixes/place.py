"""Where a fix may be written: never through a link out of the checkpoint, never into a cache."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

from specpreflight.errors import InputError
from specpreflight.storage import Storage


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


def find_write_place(storage: Storage, path: str, name: str) -> WritePlace:
    """Return where the file that was read from `path` is to be written.

    Raises:
        InputError: it is in the Hub's cache, is a link out of its directory, is read-only, or is
            not there any more.
    """
    folder, _, file_name = path.rpartition("/")
    try:
        directory = storage.real_path(folder or ("/" if path.startswith("/") else "."))
        file = storage.real_path(path)
        status = storage.status(file)
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise InputError(f"{name}: not written: {reason}", hint="check the path") from None
    if is_in_hub_cache(directory):
        raise InputError(
            f"{name}: not written: it belongs to the Hub's cache, whose files revisions share",
            hint="write a fixed copy with --copy-to DIR, or open a pull request with --hub-pr",
        )
    if not file.startswith(directory.rstrip("/") + "/"):
        raise InputError(
            f"{name}: not written: it is a link to {file}, outside of the checkpoint",
            hint="write a fixed copy with --copy-to DIR, or give the directory of that file",
        )
    if not status.mode & 0o222 or not status.is_writable:
        raise InputError(
            f"{name}: not written: the file is read-only (mode {status.mode:03o})",
            hint="make it writable (chmod u+w), or write a fixed copy with --copy-to DIR",
        )
    return WritePlace(file, directory, file_name, status.names - 1)


def is_in_hub_cache(directory: str) -> bool:
    """Return whether a directory is below a snapshot of huggingface_hub's cache."""
    return any(
        part == "snapshots" and before.startswith(("models--", "datasets--", "spaces--"))
        for before, part in pairwise(directory.split("/"))
    )
