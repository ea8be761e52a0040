"""The file of `--speculative-token-map`, as far as it can be seen without unpickling it."""

from __future__ import annotations

from typing import Literal, NamedTuple


class TokenMap(NamedTuple):
    """What the path leads to.

    `kind` is `hub` where the engine would ask the Hub for it, `missing` where the path is no file
    and can't be a repository's either, `unread` where the file can't be opened. `problem` says why
    `torch.load` would refuse the file.
    """

    given: str
    kind: Literal["file", "directory", "hub", "missing", "unread"]
    problem: str | None = None
