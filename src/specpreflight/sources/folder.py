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
            names = sorted(entry.name for entry in entries)
    except OSError:
        return ()
    home = directory.resolve()
    return tuple(_look(directory / name, home) for name in names)


def _look(path: Path, home: Path) -> FileEntry:
    try:
        found = path.stat()
    except OSError:
        return FileEntry(path.name, "dangling", readable=False)
    kind = stat.S_IFMT(found.st_mode)
    readable = os.access(path, os.R_OK)
    everybody = bool(found.st_mode & stat.S_IROTH)
    if kind == stat.S_IFDIR:
        return FileEntry(
            path.name,
            "directory",
            0,
            found.st_mtime,
            readable,
            everybody,
            None,
            _is_checkpoint(path),
        )
    name = "file" if kind == stat.S_IFREG else "other"
    return FileEntry(
        path.name,
        "file" if name == "file" else "other",
        found.st_size,
        found.st_mtime,
        readable,
        everybody,
        _outside(path, home),
    )


def _outside(path: Path, home: Path) -> str | None:
    """Return where a link leads if that is outside the checkpoint and its Hub cache."""
    if not path.is_symlink():
        return None
    reached = path.resolve()
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
