"""How a JSON file is written, so that what is added to it looks like its neighbours."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

from specpreflight.documents import scan
from specpreflight.documents.scan import Member


@dataclass(frozen=True, slots=True)
class Style:
    """The layout of a JSON text.

    Attributes:
        newline: what ends its lines.
        indent: what one level adds at the start of a line; `None` where all is on one line.
        comma: what separates two values on one line.
        colon: what stands between a key and its value.
        ascii_only: other characters are written as escapes.
        flat_lists: lists of scalars are kept on one line.
    """

    newline: str
    indent: str | None
    comma: str
    colon: str
    ascii_only: bool
    flat_lists: bool

    def on_one_line(self) -> Style:
        """Return the style of a container that is written on one line."""
        return replace(self, indent=None)


def style_of(text: str) -> Style:
    """Return the style of a document, read from its top level."""
    root = scan.whole(text)
    children = list(scan.members(text, root))
    lead = text[root.start + 1 : children[0].key_start] if children else ""
    newline = "\r\n" if "\r\n" in text else "\n"
    lists = [text[child.start : child.end] for child in children if text[child.start] == "["]
    flat = [written for written in lists if json.loads(written) and "\n" not in written]
    return Style(
        newline=newline,
        indent=lead.rpartition("\n")[2] if "\n" in lead else None,
        comma=", " if "\n" in lead else separator_of(text, children, ", "),
        colon=colon_of(text, children, ": "),
        ascii_only=text.isascii(),
        flat_lists=bool(flat),
    )


def separator_of(text: str, siblings: Sequence[Member], default: str) -> str:
    """Return what most often stands between two neighbours, the comma included."""
    between = Counter(text[one.end : other.key_start] for one, other in pairwise(siblings))
    return between.most_common(1)[0][0] if between else default


def colon_of(text: str, siblings: Sequence[Member], default: str) -> str:
    """Return what most often stands between a key and its value."""
    colons = Counter(text[one.key_end : one.start] for one in siblings)
    return colons.most_common(1)[0][0] if colons else default


def format_value(value: Any, style: Style, margin: str) -> str:
    """Return a JSON value in a style; `margin` is the indentation of the line it begins on."""
    if not isinstance(value, (dict, list, tuple)) or not value:
        return json.dumps(value, ensure_ascii=style.ascii_only)
    is_object = isinstance(value, dict)
    is_flat = not is_object and not any(isinstance(item, (dict, list, tuple)) for item in value)
    if style.indent is None or (style.flat_lists and is_flat):
        before, between, after = "", style.comma, ""
        inner_style, inner_margin = style.on_one_line(), margin
    else:
        inner_style, inner_margin = style, margin + style.indent
        before = style.newline + inner_margin
        between, after = "," + before, style.newline + margin
    if isinstance(value, dict):
        written = [
            json.dumps(key, ensure_ascii=style.ascii_only)
            + style.colon
            + format_value(item, inner_style, inner_margin)
            for key, item in value.items()
        ]
    else:
        written = [format_value(item, inner_style, inner_margin) for item in value]
    opening, closing = "{}" if is_object else "[]"
    return opening + before + between.join(written) + after + closing
