"""On which line of a TOML file a key stands, as far as a look at the lines can tell."""

from __future__ import annotations

import re
from typing import TypeAlias

#: Keys and positions in arrays of tables: `("ignore", 1, "until")`.
KeyPath: TypeAlias = "tuple[str | int, ...]"

_NAME = r"""(?:[\w-]+|"[^"]*"|'[^']*')"""
_KEY = rf"{_NAME}(?:\s*\.\s*{_NAME})*"
_HEADER = re.compile(rf"\s*(\[\[?)\s*({_KEY})\s*\]")
_ASSIGNMENT = re.compile(rf"\s*({_KEY})\s*=")


def find_lines(text: str) -> dict[KeyPath, int]:
    """Return the line (1-based) of each table and key that begins a line.

    Keys inside inline tables are not found; `nearest` answers with what holds them.
    """
    lines: dict[KeyPath, int] = {}
    counts: dict[KeyPath, int] = {}
    table: KeyPath = ()
    for number, line in enumerate(text.splitlines(), start=1):
        if header := _HEADER.match(line):
            table = _parts(header[2])
            if header[1] == "[[":
                counts[table] = counts.get(table, -1) + 1
                table = (*table, counts[table])
            lines.setdefault(table, number)
        elif assignment := _ASSIGNMENT.match(line):
            lines.setdefault((*table, *_parts(assignment[1])), number)
    return lines


def nearest(path: KeyPath, lines: dict[KeyPath, int]) -> KeyPath:
    """Return the path itself or that of the nearest table around it whose line is known."""
    while path and path not in lines:
        path = path[:-1]
    return path


def _parts(key: str) -> KeyPath:
    return tuple(part.strip("\"'") for part in re.findall(_NAME, key))
