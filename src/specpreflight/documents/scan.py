"""Where the members of a JSON text stand, found on demand with the standard library's scanner.

Values between the one looked for and the start are skipped by `JSONDecoder.raw_decode`, which
runs in C; only the brackets on the way to the value are walked in Python. The text must have been
accepted by `json.loads` before.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from functools import cached_property
from typing import NamedTuple

from specpreflight.documents.pointer import array_index, split_pointer

_raw_decode = json.JSONDecoder().raw_decode
_whitespace = re.compile(r"[ \t\n\r]*")


class Member(NamedTuple):
    """A value in a text, with its key; offsets are in characters, ends exclusive.

    `key` is the unescaped key in an object, the index in an array and `""` for the whole document;
    where there is no key text, `key_start` and `key_end` equal `start`.
    """

    key: str | int
    key_start: int
    key_end: int
    start: int
    end: int


def skip_whitespace(text: str, at: int) -> int:
    """Return the offset of the first character at or after `at` that is no JSON whitespace."""
    found = _whitespace.match(text, at)
    return at if found is None else found.end()


def whole(text: str) -> Member:
    """Return the document's own value."""
    start = skip_whitespace(text, 0)
    _, end = _raw_decode(text, start)
    return Member("", start, start, start, end)


def members(text: str, container: Member) -> Iterator[Member]:
    """Yield the members of an object or an array in the order of the text; none of a scalar."""
    opening = text[container.start]
    if opening not in "{[":
        return
    closing = "}" if opening == "{" else "]"
    at = skip_whitespace(text, container.start + 1)
    index = 0
    while text[at] != closing:
        key: str | int = index
        key_start = key_end = at
        if opening == "{":
            key, key_end = _raw_decode(text, at)
            colon = skip_whitespace(text, key_end)
            at = skip_whitespace(text, colon + 1)
        _, end = _raw_decode(text, at)
        yield Member(key, key_start, key_end, at, end)
        index += 1
        at = skip_whitespace(text, end)
        if text[at] == ",":
            at = skip_whitespace(text, at + 1)


class Index:
    """Where the values of a text stand; a container is walked when a member is first wanted."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._members: dict[int, dict[str | int | None, Member]] = {}

    def find(self, pointer: str) -> Member | None:
        """Return the value at `pointer`: of a duplicate key the last one, as parsers take it."""
        found: Member | None = self._whole
        for part in split_pointer(pointer):
            if found is None:
                return None
            key = part if self._text[found.start] == "{" else array_index(part)
            found = self._members_of(found).get(key)
        return found

    @cached_property
    def _whole(self) -> Member:
        return whole(self._text)

    def _members_of(self, container: Member) -> dict[str | int | None, Member]:
        if container.start not in self._members:
            self._members[container.start] = {
                member.key: member for member in members(self._text, container)
            }
        return self._members[container.start]


def find(text: str, pointer: str) -> Member | None:
    """Return the value at `pointer`, as `Index` does, of a text that is asked once."""
    return Index(text).find(pointer)


def walk(text: str) -> Iterator[tuple[tuple[str | int, ...], Member, Member]]:
    """Yield `(parts of the container's pointer, container, member)` for every member, in depth.

    Quadratic in the depth of nesting; for looking over a whole document that has something odd.
    """
    pending: list[tuple[tuple[str | int, ...], Member]] = [((), whole(text))]
    while pending:
        parts, container = pending.pop()
        for member in members(text, container):
            yield parts, container, member
            if text[member.start] in "{[":
                pending.append(((*parts, member.key), member))
