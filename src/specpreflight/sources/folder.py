"""Look over a checkpoint's directory, without opening a file."""

from __future__ import annotations

import os
import stat
from pathlib import Path

from specpreflight.models.folder import FileEntry


def read_folder(directory: Path) -> tuple[FileEntry, ...]:
    """Return one entry for each name in `directory`, sorted; none where it can't be listed."""
    try:
        with os.scandir(directory) as entries:
            found = sorted(entries, key=lambda entry: entry.name)
    except OSError:
        return ()
    return tuple(_look(entry, directory) for entry in found)


def _look(entry: os.DirEntry[str], directory: Path) -> FileEntry:
    try:
        found = entry.stat()
    except OSError:
        return FileEntry(entry.name, "dangling", readable=False)
    kind = stat.S_IFMT(found.st_mode)
    readable = os.access(entry.path, os.R_OK)
    everybody = bool(found.st_mode & stat.S_IROTH)
    if kind == stat.S_IFDIR:
        return FileEntry(
            entry.name,
            "directory",
            0,
            found.st_mtime,
            readable,
            everybody,
            None,
            _is_checkpoint(directory / entry.name),
        )
    return FileEntry(
        entry.name,
        "file" if kind == stat.S_IFREG else "other",
        found.st_size,
        found.st_mtime,
        readable,
        everybody,
        _outside(directory / entry.name) if entry.is_symlink() else None,
    )


def _outside(path: Path) -> str | None:
    """Return where a link leads if that is outside the checkpoint and its Hub cache."""
    home, reached = path.parent.resolve(), path.resolve()
    blobs = home.parent.parent / "blobs"
    if reached.is_relative_to(home) or reached.is_relative_to(blobs):
        return None
    return str(reached)


def _is_checkpoint(path: Path) -> bool:
    try:
        names = {entry.name for entry in path.iterdir()}
    except OSError:
        return False
    weights = any(name.endswith((".safetensors", ".bin", ".gguf")) for name in names)
    return "config.json" in names and weights
