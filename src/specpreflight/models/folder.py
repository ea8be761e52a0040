"""What lies in a checkpoint's directory: names, sizes, times, links, whether they can be read."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, NamedTuple, cast

from specpreflight.models.checkpoint import Checkpoint


class FileEntry(NamedTuple):
    """One name in the directory.

    `kind` is that of what the name leads to; `dangling` is a link to nothing. `size` is in bytes,
    `modified` in seconds since 1970. `outside` is the resolved path of a link that leaves the
    checkpoint (and is no Hub cache's blob), else `None`. `checkpoint` tells a directory that holds
    a `config.json` and weights of its own.
    """

    name: str
    kind: Literal["file", "directory", "dangling", "other"]
    size: int = 0
    modified: float = 0.0
    readable: bool = True
    everybody: bool = True
    outside: str | None = None
    checkpoint: bool = False


def folder_of(checkpoint: Checkpoint | None) -> tuple[FileEntry, ...]:
    """Return the entries of a checkpoint's directory, none where it is not at hand."""
    if checkpoint is None or "folder" not in checkpoint.facts:
        return ()
    return cast("Callable[[], tuple[FileEntry, ...]]", checkpoint.facts["folder"])()
