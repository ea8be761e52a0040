"""Brace expansion (bash manual 3.5.1): one word becomes several before anything else happens."""

from __future__ import annotations

import re
from itertools import pairwise

from specpreflight.sources.shell.syntax import Literal, Part

_RANGE = re.compile(r"(-?\d+)\.\.(-?\d+)(?:\.\.(-?\d+))?|([a-zA-Z])\.\.([a-zA-Z])")
_LONGEST_RANGE = 10_000
_MOST_BRACES = 8


def expand_braces(parts: list[Part]) -> list[list[Part]]:
    """Return the words that `a{b,c}` and `{1..3}` make of one."""
    characters: list[str | Part] = []
    for part in parts:
        if isinstance(part, Literal) and not part.quoted:
            characters.extend(part.text)
        else:
            characters.append(part)
    if not 0 < characters.count("{") <= _MOST_BRACES:
        return [parts]
    return [_rejoined(found) for found in _brace_alternatives(characters)]


def _brace_alternatives(characters: list[str | Part]) -> list[list[str | Part]]:
    for start, character in enumerate(characters):
        if character != "{":
            continue
        depth = 0
        commas = []
        for end in range(start, len(characters)):
            depth += (characters[end] == "{") - (characters[end] == "}")
            if characters[end] == "," and depth == 1:
                commas.append(end)
            if depth == 0:
                break
        else:
            continue
        inner = _alternatives(characters, start, end, commas)
        if inner is None:
            continue
        head = characters[:start]
        tails = _brace_alternatives(characters[end + 1 :])
        return [
            [*head, *middle, *tail]
            for choice in inner
            for middle in _brace_alternatives(choice)
            for tail in tails
        ]
    return [characters]


def _alternatives(
    characters: list[str | Part], start: int, end: int, commas: list[int]
) -> list[list[str | Part]] | None:
    if commas:
        edges = [start, *commas, end]
        return [characters[first + 1 : last] for first, last in pairwise(edges)]
    inner = characters[start + 1 : end]
    text = "".join(character for character in inner if isinstance(character, str))
    match = _RANGE.fullmatch(text) if len(text) == len(inner) else None
    if match is None:
        return None
    first, last, step, letter, other = match.groups()
    low, high = (int(first), int(last)) if first else (ord(letter), ord(other))
    stride = abs(int(step or 1)) or 1
    if abs(high - low) // stride > _LONGEST_RANGE:
        return None
    numbers = range(low, high + 1, stride) if low <= high else range(low, high - 1, -stride)
    return [list(str(number) if first else chr(number)) for number in numbers]


def _rejoined(characters: list[str | Part]) -> list[Part]:
    parts: list[Part] = []
    text = ""
    for character in characters:
        if isinstance(character, str):
            text += character
            continue
        if text:
            parts.append(Literal(text))
            text = ""
        parts.append(character)
    if text:
        parts.append(Literal(text))
    return parts
