"""Configs that differ in nothing that is read: run ids, dates, paths and counters of a training.

Of a config that is written a member a line, the values that nothing reads are replaced by a mark
of their type. What is left decides what a check says of it, places in the file included: lines stay
as they are, and the value of a key that is read shares its line with no other.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Collection
from typing import Final, NamedTuple

from specpreflight.sources.checkpoint_identity import digest_of

#: A member that has its line to itself, and whose value is a whole number, a plain decimal one, or
#: a plain string; split by it, a text gives what is between, before the value, the key, the value.
_MEMBER: Final = re.compile(
    rb'^([ \t]*"([A-Za-z_][\w.-]*)"[ \t]*:[ \t]*)'
    rb'(-?(?:0|[1-9][0-9]{0,14})(?:\.[0-9]{1,17})?(?:[eE][-+]?[0-9]{1,2})?|"[ !#-\[\]-~]{0,512}")'
    rb"(?=[ \t]*,?[ \t]*\r?$)",
    re.MULTILINE,
)
_PARTS: Final = 4

#: What no plain value is; in JSON, a string.
_MARK: Final = "\0unread "

#: Shapes of configs, and configs without their unread values, that are remembered.
_REMEMBERED: Final = 4096


class Likeness(NamedTuple):
    """The digest of a config without the values that nothing reads, and their keys."""

    digest: bytes
    unread: tuple[str, ...]


class Likenesses:
    """Learns which values vary from config to config, and which of them nothing reads.

    A key is only asked for when two configs of the same shape differ in it, and once. What was
    seen before keeps its values.

    Args:
        find_unread: returns those of some keys that nothing reads.
    """

    def __init__(self, find_unread: Callable[[Collection[str]], Collection[str]]) -> None:
        self._find_unread = find_unread
        self._asked: set[bytes] = set()
        self._unread: set[bytes] = set()
        self._first: dict[bytes, list[bytes]] = {}
        self._sound: dict[bytes, bool] = {}

    def of(self, data: bytes) -> Likeness | None:
        """Return what a config is alike with, `None` where all its values count."""
        parts = _MEMBER.split(data)
        keys, values = parts[2::_PARTS], parts[3::_PARTS]
        marks = [_MARKS[_kind(value)] for value in values]
        self._learn(parts, keys, values, marks)
        if self._unread.isdisjoint(keys):
            return None
        left_out = [key in self._unread for key in keys]
        parts[3::_PARTS] = [
            mark if out else value for out, mark, value in zip(left_out, marks, values, strict=True)
        ]
        del parts[2::_PARTS]
        text = b"".join(parts)
        digest = digest_of(text)
        if digest not in self._sound:
            if len(self._sound) >= _REMEMBERED:
                self._sound.clear()
            self._sound[digest] = _has_on_top(text, sum(left_out))
        if not self._sound[digest]:
            return None
        unread = sorted({key.decode() for key in keys if key in self._unread})
        return Likeness(digest, tuple(unread))

    def _learn(
        self, parts: list[bytes], keys: list[bytes], values: list[bytes], marks: list[bytes]
    ) -> None:
        """Ask for the keys in which this config differs from the first of its shape."""
        shape = digest_of(b"".join((*parts[0::_PARTS], *parts[1::_PARTS], *marks)))
        first = self._first.get(shape)
        if first is None:
            if len(self._first) < _REMEMBERED:
                self._first[shape] = values
            return
        if first == values:
            return
        varying = {key for key, one, other in zip(keys, first, values, strict=True) if one != other}
        new = varying - self._asked
        if new:
            self._asked |= new
            unread = self._find_unread([key.decode() for key in new])
            self._unread.update(key.encode() for key in unread)


def _kind(value: bytes) -> str:
    if value.startswith(b'"'):
        return "string"
    return "whole" if value.lstrip(b"-").isdigit() else "decimal"


#: Marks as they stand in a text, by kind of value.
_MARKS: Final = {kind: json.dumps(_MARK + kind).encode() for kind in ("string", "whole", "decimal")}


def _has_on_top(text: bytes, count: int) -> bool:
    """Return whether a text is a JSON object with `count` marks, all of them its own values.

    Then no mark is in a part of the config, where engines may look at all values, and no marked
    key is there twice.
    """
    try:
        root = json.loads(text)
    except (ValueError, RecursionError):
        return False
    return isinstance(root, dict) and count == sum(
        isinstance(value, str) and value.startswith(_MARK) for value in root.values()
    )
