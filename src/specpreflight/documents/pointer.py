"""JSON pointers (RFC 6901): the names of places in a document."""

from __future__ import annotations

from functools import lru_cache


@lru_cache(maxsize=1024)
def split_pointer(pointer: str) -> tuple[str, ...]:
    """Return the unescaped parts of a pointer; `""` is the whole document.

    Raises:
        ValueError: the pointer is neither empty nor begins with `/`.
    """
    if not pointer:
        return ()
    if not pointer.startswith("/"):
        raise ValueError(f"not a JSON pointer: {pointer!r}")
    parts = pointer[1:].split("/")
    return tuple(part.replace("~1", "/").replace("~0", "~") for part in parts)


def join_pointer(*parts: str | int) -> str:
    """Return the pointer whose unescaped parts are given."""
    return "".join("/" + str(part).replace("~", "~0").replace("/", "~1") for part in parts)


def array_index(part: str) -> int | None:
    """Return the array index that a pointer part names; `None` for `-1`, `01`, `x`."""
    if part.isascii() and part.isdigit() and (part == "0" or part[0] != "0"):
        return int(part)
    return None
