"""Edits of a JSON text that keep every character outside the edited value.

The text must have been accepted by `json.loads`. Where a key is there twice, the one that parsers
take, the last, is edited; a removal removes all of them, since an earlier one would come to light.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from specpreflight.documents import scan
from specpreflight.documents.document import BYTE_ORDER_MARK
from specpreflight.documents.pointer import array_index, join_pointer, split_pointer
from specpreflight.documents.scan import Member
from specpreflight.documents.style import colon_of, format_value, separator_of, style_of


def edit_bytes(data: bytes, pointer: str, value: Any) -> bytes:
    """Return a file with the value at `pointer` replaced, or added where there is none.

    Raises:
        LookupError: what should hold the new value is not there, or is no object or array.
    """
    text = _text(data)
    edit = add_value if scan.find(text, pointer) is None else replace_value
    return _bytes(data, edit(text, pointer, value))


def remove_bytes(data: bytes, pointer: str) -> bytes:
    """Return a file without the value at `pointer`, its key and one comma.

    Raises:
        LookupError: there is no such value, or it is the whole document.
    """
    return _bytes(data, remove_value(_text(data), pointer))


def replace_value(text: str, pointer: str, value: Any) -> str:
    """Return `text` with the value at `pointer` replaced.

    A container takes the layout of the one it replaces: on one line, or over several.

    Raises:
        LookupError: there is no such value.
    """
    member = scan.find(text, pointer)
    if member is None:
        raise LookupError(pointer)
    style = style_of(text)
    before = text[member.start : member.end]
    if before[0] in "[{" and len(before) > 2 and "\n" not in before:
        style = style.on_one_line()
    written = format_value(value, style, _margin(text, member.start))
    return text[: member.start] + written + text[member.end :]


def add_value(text: str, pointer: str, value: Any) -> str:
    """Return `text` with a new key in an object, or a new last item in an array.

    Among sorted keys the new one goes to its place in the order, else to the end.

    Raises:
        LookupError: the container is not there, is a scalar, or `pointer` names no next item.
    """
    container, key = _container(text, pointer)
    siblings = list(scan.members(text, container))
    is_object = text[container.start] == "{"
    if not is_object and key not in {"-", str(len(siblings))}:
        raise LookupError(pointer)
    if any(sibling.key == key for sibling in siblings):
        raise LookupError(pointer)
    style = style_of(text)
    if not siblings:
        margin = _margin(text, container.start)
        one_line = style.indent is None
        inner = "" if one_line else style.newline + margin + (style.indent or "")
        closing = "" if one_line else style.newline + margin
        written = format_value(value, style, inner.lstrip("\r\n"))
        if is_object:
            written = format_value(key, style, "") + style.colon + written
        return text[: container.start + 1] + inner + written + closing + text[container.end - 1 :]
    lead = text[container.start + 1 : siblings[0].key_start]
    separator = separator_of(text, siblings, "," + (lead or style.comma.partition(",")[2]))
    if "\n" not in separator:
        style = style.on_one_line()
    written = format_value(value, style, _leading_whitespace(separator.rpartition("\n")[2]))
    if is_object:
        colon = colon_of(text, siblings, style.colon)
        written = format_value(key, style, "") + colon + written
    position = _sorted_position(siblings, key) if is_object else len(siblings)
    if position == 0:
        at = siblings[0].key_start
        return text[:at] + written + separator + text[at:]
    at = siblings[position - 1].end
    return text[:at] + separator + written + text[at:]


def remove_value(text: str, pointer: str) -> str:
    """Return `text` without the value at `pointer`, its key and one comma.

    Raises:
        LookupError: there is no such value, or it is the whole document.
    """
    if scan.find(text, pointer) is None:
        raise LookupError(pointer)
    while True:
        container, key = _container(text, pointer)
        is_object = text[container.start] == "{"
        wanted: str | int | None = key if is_object else array_index(key)
        siblings = list(scan.members(text, container))
        index = next(i for i, sibling in enumerate(siblings) if sibling.key == wanted)
        start, end = _removed_span(container, siblings, index)
        text = text[:start] + text[end:]
        if not is_object or scan.find(text, pointer) is None:
            return text


def _removed_span(container: Member, siblings: Sequence[Member], index: int) -> tuple[int, int]:
    if len(siblings) == 1:
        return container.start + 1, container.end - 1
    if index + 1 < len(siblings):
        return siblings[index].key_start, siblings[index + 1].key_start
    return siblings[index - 1].end, siblings[index].end


def _container(text: str, pointer: str) -> tuple[Member, str]:
    """Return the object or array that holds (or shall hold) the value, and its key there."""
    parts = split_pointer(pointer)
    container = scan.find(text, join_pointer(*parts[:-1])) if parts else None
    if container is None or text[container.start] not in "{[":
        raise LookupError(pointer)
    return container, parts[-1]


def _sorted_position(siblings: Sequence[Member], key: str) -> int:
    keys = [str(sibling.key) for sibling in siblings]
    if len(keys) < 2 or keys != sorted(keys):
        return len(keys)
    return sum(other <= key for other in keys)


def _margin(text: str, at: int) -> str:
    """Return the indentation of the line that holds offset `at`."""
    return _leading_whitespace(text[text.rfind("\n", 0, at) + 1 : at])


def _leading_whitespace(line: str) -> str:
    return line[: len(line) - len(line.lstrip(" \t"))]


def _text(data: bytes) -> str:
    return data.removeprefix(BYTE_ORDER_MARK).decode("utf-8")


def _bytes(data: bytes, text: str) -> bytes:
    mark = BYTE_ORDER_MARK if data.startswith(BYTE_ORDER_MARK) else b""
    return mark + text.encode("utf-8")
