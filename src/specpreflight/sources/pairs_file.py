"""Read a pairs file: which draft is for which target, as its user wrote it."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from specpreflight.errors import InputError
from specpreflight.sources.text_file import read_text_file

_HINT = 'a line is: TARGET DRAFT; or JSON: [{"target": …, "draft": …}, …]'


class StatedPair(NamedTuple):
    """A line of a pairs file; `draft` may hold the wildcards `*`, `?` and `[…]`."""

    target: str
    draft: str
    by: str


def read_pairs(path: Path) -> list[StatedPair]:
    """Return the pairs of a file: two columns a line, or a JSON array of objects.

    Columns are parted by a tab or blanks and quoted as in a shell; `#` begins a comment.

    Raises:
        InputError: the file cannot be read, or a line is no pair.
    """
    text = read_text_file(path)
    pairs = _from_json(text, path) if text.lstrip().startswith("[") else _from_lines(text, path)
    return list(pairs)


def _from_lines(text: str, path: Path) -> Iterator[StatedPair]:
    for number, line in enumerate(text.splitlines(), start=1):
        try:
            words = line.split("\t") if "\t" in line else shlex.split(line, comments=True)
        except ValueError as error:
            raise InputError(f"{path}:{number}: {str(error).lower()}", hint=_HINT) from None
        if not words or line.lstrip().startswith("#"):
            continue
        if len(words) != 2 or not all(word.strip() for word in words):
            raise InputError(
                f"{path}:{number}: {len(words)} columns, expected a target and a draft", hint=_HINT
            )
        yield StatedPair(words[0].strip(), words[1].strip(), f"{path}:{number}")


def _from_json(text: str, path: Path) -> Iterator[StatedPair]:
    try:
        entries: Any = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise InputError(f"{path}: not JSON: {str(error).lower()}", hint=_HINT) from None
    for number, entry in enumerate(entries, start=1):
        named = entry if isinstance(entry, dict) else {}
        target, draft = named.get("target"), named.get("draft")
        if not (isinstance(target, str) and target and isinstance(draft, str) and draft):
            raise InputError(f"{path}: pair {number} has no target and draft", hint=_HINT)
        yield StatedPair(target, draft, f"{path}, pair {number}")
