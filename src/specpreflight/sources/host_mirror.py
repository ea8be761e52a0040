"""Files of another machine, copied here as they are asked for.

What reads a launch reads files of this machine. For `--host` those that it asks for are copied to a
folder that mirrors the host's tree. Nothing is written, started or left on the host.
"""

from __future__ import annotations

import os
import posixpath
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from specpreflight.errors import InputError

if TYPE_CHECKING:
    from specpreflight.storage.sftp import SftpStorage

_WILDCARD = re.compile(r"[*?\[]")


class HostMirror:
    """A host's files, and where they are here.

    Args:
        origin: the host as URLs name it (`ssh://user@host:port`).
        storage: its files.
        folder: what mirrors its root.
    """

    def __init__(self, origin: str, storage: SftpStorage, folder: Path) -> None:
        self.origin = origin
        self._storage = storage
        self.folder = folder

    def here(self, path: str) -> Path:
        """Return where a file of the host is here, whether it was copied or not.

        Whatever the host calls it, that is below the mirror's folder.
        """
        return self.folder / posixpath.normpath(f"/{path}").lstrip("/")

    def named(self, text: str) -> str:
        """Return a text with the names of copies as the URLs that they were copied from."""
        return text.replace(str(self.folder), self.origin)

    def copy(self, path: str) -> Path:
        """Copy a file and return where it is here; nothing is there if the host has none.

        Raises:
            InputError: the host has it and does not let it be read.
        """
        place = self.here(path)
        try:
            self._storage.status(path)
        except FileNotFoundError:
            place.unlink(missing_ok=True)
            return place
        except OSError as error:
            raise InputError(f"{self.origin}{path}: {error.strerror or error}".lower()) from None
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(self._storage.read(path, f"{self.origin}{path}"))
        return place

    def find(self, folder: str, pattern: str) -> Iterator[str]:
        """Yield the host's paths below a folder that match a glob pattern, sorted."""
        from fnmatch import fnmatchcase

        first, _, rest = pattern.partition("/")
        names = [first]
        if _WILDCARD.search(first):
            entries = sorted(self._storage.names(folder))
            names = [name for name in entries if fnmatchcase(name, first)]
        for name in names:
            path = posixpath.join(folder, name) if name else folder
            if rest:
                yield from self.find(path, rest)
            elif self.has(path):
                yield path

    def has(self, path: str) -> bool:
        """Return whether the host has a file or folder."""
        try:
            self._storage.status(path)
        except OSError:
            return False
        return True

    def copy_tree(self, root: str, folders: Iterable[str], suffix: str) -> Path:
        """Copy the files with a suffix in a folder, and below some of its folders.

        What is here already with the size and time that the host tells is not copied again, and
        what the host does not have any more goes.

        Returns:
            Where `root` is here.

        Raises:
            InputError: the connection broke, or a file cannot be read.
        """
        wanted = [path for name in folders for path in self._list(f"{root}/{name}", suffix)]
        wanted += list(self._list(root, suffix, depth=0))
        stale = [path for path, (size, changed) in wanted if self._differs(path, size, changed)]
        known = {str(self.here(path)) for path, _ in wanted}
        place = self.here(root)
        for file in place.rglob(f"*{suffix}"):
            if str(file) not in known:
                file.unlink()
        times = {path: changed for path, (_, changed) in wanted}
        try:
            for path, data in self._storage.read_many(stale):
                copied = self.here(path)
                copied.parent.mkdir(parents=True, exist_ok=True)
                copied.write_bytes(data)
                os.utime(copied, (times[path], times[path]))
        except OSError as error:
            raise InputError(
                f"{self.origin}{root}: {str(error.strerror or error).lower()}",
                hint="run it again: what was copied is not copied twice",
            ) from None
        return place

    def _list(
        self, folder: str, suffix: str, depth: int = 30
    ) -> Iterator[tuple[str, tuple[int, int]]]:
        for entry in self._storage.entries(folder):
            path = f"{folder}/{entry.name}"
            if entry.is_directory:
                if depth:
                    yield from self._list(path, suffix, depth - 1)
            elif entry.name.endswith(suffix):
                yield path, (entry.size, entry.changed)

    def _differs(self, path: str, size: int, changed: int) -> bool:
        try:
            found = self.here(path).stat()
        except OSError:
            return True
        return (found.st_size, int(found.st_mtime)) != (size, changed)
