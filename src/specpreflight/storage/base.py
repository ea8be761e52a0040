"""What a place that holds checkpoints must be able to do."""

from __future__ import annotations

from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True)
class Status:
    """What is known of a file: its mode bits, how many names it has, whether we may write it."""

    mode: int
    names: int = 1
    is_writable: bool = True


class Storage(Protocol):
    """Where a checkpoint lives. Paths are absolute; failures are `OSError`."""

    @property
    def why_read_only(self) -> str | None:
        """Why no fix is written here; `None` where one may be."""
        ...

    def read(self, path: str, name: str) -> bytes:
        """Return the content of a regular file; `name` is what messages call it.

        Raises:
            InputError: it is missing, unreadable, too large or no regular file.
        """
        ...

    def real_path(self, path: str) -> str:
        """Return the path with all links resolved.

        Raises:
            FileNotFoundError: there is no such file.
        """
        ...

    def status(self, path: str) -> Status:
        """Return what is known of a file."""
        ...

    def create(self, path: str, data: bytes, like: str) -> tuple[str, ...]:
        """Write a new file with the permissions of the file `like`, and flush it to the disk.

        Returns what could not be kept, as notes for the user. Never overwrites a file.
        """
        ...

    def back_up(self, path: str, backup: str, data: bytes) -> None:
        """Keep the content `data` of a file, which is about to be replaced, in a new file."""
        ...

    def rename(self, old: str, new: str) -> tuple[str, ...]:
        """Put a file in the place of another, in one step where the place can do that.

        Returns what could not be kept, as notes for the user.
        """
        ...

    def remove(self, path: str) -> None:
        """Remove a file; nothing happens where there is none."""
        ...

    def make_directory(self, path: str) -> None:
        """Make a directory; nothing happens where there is one.

        Raises:
            NotADirectoryError: something else has that name.
        """
        ...

    def names(self, directory: str) -> list[str]:
        """Return the names in a directory; none where there is no such directory."""
        ...

    def sync_directory(self, path: str) -> None:
        """Flush a directory's entries to the disk."""
        ...

    def may_be_in_git(self, directory: str) -> bool:
        """Return whether a directory is, or may be, in a Git repository's work tree."""
        ...

    def lock(self, directory: str) -> AbstractContextManager[None]:
        """Hold the advisory lock of a directory against other runs of specpreflight.

        Raises:
            BlockingIOError: another run holds it.
        """
        ...
