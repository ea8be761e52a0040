"""Look at the file of `--speculative-token-map`: is it there, and does it begin as torch's do."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

from specpreflight.models.token_map import TokenMap

#: How files of `torch.save` begin: a zip archive, or a pickle (before torch 1.6).
_TORCH: Final = (b"PK\x03\x04", b"\x80")
_POINTER: Final = b"version https://git-lfs"
#: What `huggingface_hub` takes for a repository: one or two words.
_REPOSITORY: Final = re.compile(r"[A-Za-z0-9_][\w.-]{0,95}(/[A-Za-z0-9_][\w.-]{0,95})?", re.ASCII)


def read_token_map(given: str) -> TokenMap:
    """Return what `given` leads to; only the first bytes of a file are read.

    A path that does not exist is `repository/file` on the Hub to the engine.
    """
    path = Path(given)
    try:
        if given and path.is_dir():
            return TokenMap(given, "directory")
        if path.is_fifo():
            return TokenMap(given, "unread")
        with path.open("rb") as file:
            return TokenMap(given, "file", _problem(file.read(len(_POINTER))))
    except PermissionError:
        return TokenMap(given, "unread")
    except (OSError, ValueError):
        repository, _, _ = given.rpartition("/")
        return TokenMap(given, "hub" if _REPOSITORY.fullmatch(repository) else "missing")


def _problem(start: bytes) -> str | None:
    if start.startswith(_TORCH):
        return None
    if not start:
        return "is empty"
    if start.startswith(_POINTER):
        return "is a Git LFS pointer, not the file itself"
    return "is not what `torch.save` writes"
