"""A JSON file, parsed once; the places of its values are found when they are asked for."""

from __future__ import annotations

import json
from collections import Counter
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

from specpreflight.documents import scan
from specpreflight.documents.pointer import array_index, join_pointer, split_pointer

BYTE_ORDER_MARK = b"\xef\xbb\xbf"


class Place(NamedTuple):
    """Where a value stands: 1-based line and columns (characters), and the byte span.

    `end_column` and `end` are exclusive; for a value that goes over several lines, `end_column`
    is the end of its first line.
    """

    line: int
    column: int
    end_column: int
    start: int
    end: int


class Hidden(NamedTuple):
    """A key that a later one of the same name hides: where it stands, and its unused value."""

    pointer: str
    place: Place
    value: Any


class Document:
    """A parsed JSON file.

    Attributes:
        name: the path as the user wrote it; reports and remedies use it.
        data: the raw bytes, UTF-8.
        root: the parsed value, as Python's `json` (and so the engine) sees it.
        path: where it was read, or `None` for one that is not in a local file.
    """

    def __init__(self, name: str, data: bytes, root: Any, path: Path | None = None) -> None:
        self.name = name
        self.data = data
        self.root = root
        self.path = path
        self._places: dict[str, Place | None] = {}

    def __repr__(self) -> str:
        return f"Document({self.name!r}, {len(self.data)} bytes)"

    def get(self, pointer: str, default: Any = None) -> Any:
        """Return the value at a JSON pointer, `default` where there is none.

        Raises:
            ValueError: the pointer is neither empty nor begins with `/`.
        """
        value = self.root
        for part in split_pointer(pointer):
            if isinstance(value, dict) and part in value:
                value = value[part]
            elif (
                isinstance(value, list)
                and (index := array_index(part)) is not None
                and index < len(value)
            ):
                value = value[index]
            else:
                return default
        return value

    @property
    def has_bom(self) -> bool:
        """Whether the file begins with a UTF-8 byte order mark.

        The engines stop at it: transformers reads with `open(encoding="utf-8")` and gives the text
        to `json.loads`, which refuses U+FEFF (`PreTrainedConfig._dict_from_json_file`).
        """
        return self.data.startswith(BYTE_ORDER_MARK)

    @cached_property
    def text(self) -> str:
        """The file's text without a byte order mark."""
        return self.data.removeprefix(BYTE_ORDER_MARK).decode("utf-8")

    def place(self, pointer: str) -> Place | None:
        """Return the place of the value at `pointer`, of a duplicate key that of the last one."""
        if pointer not in self._places:
            member = self._index.find(pointer)
            self._places[pointer] = member and self._span(member.start, member.end)
        return self._places[pointer]

    def key_place(self, pointer: str) -> Place | None:
        """Return the place of the key (quotes included) of the value at `pointer`.

        `None` where there is no such value or it has no key: in an array, or the whole document.
        """
        member = self._index.find(pointer)
        if member is None or member.key_start == member.key_end:
            return None
        return self._span(member.key_start, member.key_end)

    def line_text(self, line: int) -> str:
        """Return a line (1-based) without its end, `""` after the last one."""
        lines = self._lines
        return lines[line - 1].removesuffix("\r") if 0 < line <= len(lines) else ""

    @cached_property
    def duplicates(self) -> tuple[Hidden, ...]:
        """Every key that a later one of the same name hides, in the order of the file."""
        seen_twice = False

        def notice(pairs: list[tuple[str, Any]]) -> None:
            nonlocal seen_twice
            seen_twice = seen_twice or len({key for key, _ in pairs}) < len(pairs)

        json.loads(self.text, object_pairs_hook=notice)
        return tuple(self._hidden_keys()) if seen_twice else ()

    @cached_property
    def constants(self) -> tuple[tuple[str, Place], ...]:
        """`(pointer, place)` of every NaN, Infinity and -Infinity.

        They are no JSON, but Python's `json` takes them, and so do the engines.
        """
        if b"NaN" not in self.data and b"Infinity" not in self.data:
            return ()
        return tuple(
            (join_pointer(*parts, member.key), self._span(member.start, member.end))
            for parts, _, member in scan.walk(self.text)
            if self.text[member.start : member.end] in {"NaN", "Infinity", "-Infinity"}
        )

    def _hidden_keys(self) -> list[Hidden]:
        places = [
            (container.start, join_pointer(*parts, member.key), member)
            for parts, container, member in scan.walk(self.text)
            if isinstance(member.key, str)
        ]
        left = Counter((start, pointer) for start, pointer, _ in places)
        hidden = []
        for start, pointer, member in places:
            left[start, pointer] -= 1
            if left[start, pointer]:
                value = json.loads(self.text[member.start : member.end])
                place = self._span(member.key_start, member.key_end)
                hidden.append(Hidden(pointer, place, value))
        return sorted(hidden, key=lambda found: found.place.start)

    @cached_property
    def _index(self) -> scan.Index:
        return scan.Index(self.text)

    @cached_property
    def _lines(self) -> list[str]:
        return self.text.split("\n")

    def _span(self, start: int, end: int) -> Place:
        text = self.text
        line_start = text.rfind("\n", 0, start) + 1
        line_end = text.find("\n", start, end)
        shown_end = end if line_end < 0 else line_end
        if text[shown_end - 1] == "\r":
            shown_end -= 1
        return Place(
            line=text.count("\n", 0, start) + 1,
            column=start - line_start + 1,
            end_column=shown_end - line_start + 1,
            start=self._byte_offset(start),
            end=self._byte_offset(end),
        )

    def _byte_offset(self, at: int) -> int:
        before = len(BYTE_ORDER_MARK) if self.has_bom else 0
        return before + (at if self.text.isascii() else len(self.text[:at].encode("utf-8")))
