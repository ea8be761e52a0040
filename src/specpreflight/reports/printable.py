"""Text that shows what it is: no letter that moves a cursor, turns the line around, or is none."""

from __future__ import annotations


def printable(text: str) -> str:
    r"""Return text with what could not be seen spelt out: `\x1b`, `\u202e`, `\ud800`.

    A file's content could otherwise write on a terminal what it likes, or stop the output.
    """
    if text.isprintable():
        return text
    return "".join(
        char if char.isprintable() else char.encode("unicode_escape").decode() for char in text
    )


def printable_lines(text: str) -> str:
    """Return `printable` text of several lines, which stay lines."""
    return "\n".join(map(printable, text.split("\n")))
