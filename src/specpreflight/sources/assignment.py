"""One `NAME=VALUE` of a file, with its place."""

from __future__ import annotations

from typing import NamedTuple


class Assignment(NamedTuple):
    """One `NAME=VALUE` of a file.

    Attributes:
        name: the variable.
        value: its text, or `None` where the line names a variable without a value.
        line: 1-based line on which the statement begins.
        column: 1-based column of the name.
        note: what another reader of the same file would make of it, or an empty string.
    """

    name: str
    value: str | None
    line: int
    column: int = 1
    note: str = ""
