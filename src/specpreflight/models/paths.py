"""Paths as a project's files write them: relative to the file that says so, with globs."""

from __future__ import annotations

import os
import re
from functools import lru_cache

_WILDCARDS = re.compile(r"\*\*/|\*\*|\*|\?")
_AS_PATTERN = {"**/": "(?:.*/)?", "**": ".*", "*": "[^/]*", "?": "[^/]"}


def path_from(root: str, given: str) -> str:
    """Return a checkpoint's path, or a file's, as seen from the folder `root`.

    What lies below `root` is relative to it, so that it is the same on every machine. An absolute
    path elsewhere, a URL and a Hub id stay as they are. A checkpoint that was named by its
    `config.json` is the same as one named by its directory.
    """
    if "://" in given or not (os.path.isabs(given) or os.path.lexists(given)):  # noqa: PTH117
        return given
    path = os.path.abspath(given)  # noqa: PTH100 (a link keeps its name)
    inside = path == root or path.startswith(root.rstrip("/") + "/")
    if not inside and os.path.isabs(given):  # noqa: PTH117
        return given
    return os.path.relpath(path, root).replace(os.sep, "/")


def checkpoint_from(root: str, given: str | None) -> str:
    """Return a checkpoint's path as seen from `root`, empty where the launch names none."""
    if given is None:
        return ""
    path = path_from(root, given)
    return "." if path == "config.json" else path.removesuffix("/config.json").rstrip("/") or "/"


def is_deleted(root: str, path: str) -> bool:
    """Return whether a checkpoint's folder is gone; a Hub id has no folder to begin with."""
    place = os.path.join(root, path)  # noqa: PTH118
    return not os.path.lexists(place) and os.path.isdir(os.path.dirname(place))  # noqa: PTH112, PTH120


def matches_glob(path: str, glob: str) -> bool:
    """Return whether a glob means this path or a folder that holds it.

    `*` and `?` stay within one name, `**` crosses folders.
    """
    return _pattern(glob).fullmatch(path) is not None


@lru_cache(maxsize=256)
def _pattern(glob: str) -> re.Pattern[str]:
    parts: list[str] = []
    at = 0
    for wildcard in _WILDCARDS.finditer(glob):
        parts += re.escape(glob[at : wildcard.start()]), _AS_PATTERN[wildcard[0]]
        at = wildcard.end()
    return re.compile("".join([*parts, re.escape(glob[at:].rstrip("/")), "(?:/.*)?"]), re.DOTALL)
