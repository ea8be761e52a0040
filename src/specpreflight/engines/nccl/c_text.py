"""The C library functions that NCCL reads text with, in the C locale."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

_SPACES: Final = " \t\n\v\f\r"
_INT64_MAX: Final = 2**63 - 1
_INT64_MIN: Final = -(2**63)
_NUMBER: Final = re.compile(
    rf"[{_SPACES}]*(?P<sign>[+-]?)"
    r"(?:0[xX](?P<hexadecimal>[0-9a-fA-F]+)|(?P<octal>0[0-7]*)|(?P<decimal>[1-9][0-9]*))"
)
_DECIMAL: Final = re.compile(rf"[{_SPACES}]*(?P<sign>[+-]?)(?P<decimal>[0-9]+)")


@dataclass(frozen=True, slots=True)
class Number:
    """What `strtoll` returned: the value, the unread end, and whether it set ERANGE."""

    value: int
    rest: str
    overflow: bool = False


def strtoll(text: str) -> Number:
    """Restate C's `strtoll(text, &end, 0)`: base 0, ASCII digits, saturating at 64 bits."""
    match = _NUMBER.match(text)
    if match is None:
        return Number(0, text)
    if match["hexadecimal"] is not None:
        value = int(match["hexadecimal"], 16)
    elif match["octal"] is not None:
        value = int(match["octal"], 8)
    else:
        value = int_of_digits(match["decimal"])
    return _saturated(-value if match["sign"] == "-" else value, text[match.end() :])


def atoi(text: str) -> int:
    """Restate C's `atoi`: base 10, 0 where there is no number, narrowed to 32 bits."""
    match = _DECIMAL.match(text)
    if match is None:
        return 0
    value = int_of_digits(match["decimal"])
    return to_int32(_saturated(-value if match["sign"] == "-" else value, "").value)


def int_of_digits(digits: str) -> int:
    """Convert decimal digits; beyond 30 of them only "too large" matters."""
    significant = digits.lstrip("0")
    return int(significant or "0") if len(significant) <= 30 else 10**30


def _saturated(value: int, rest: str) -> Number:
    if value > _INT64_MAX:
        return Number(_INT64_MAX, rest, overflow=True)
    if value < _INT64_MIN:
        return Number(_INT64_MIN, rest, overflow=True)
    return Number(value, rest)


def to_int32(value: int) -> int:
    """Narrow to C's `int`, two's complement."""
    return (value + 2**31) % 2**32 - 2**31


def to_int16(value: int) -> int:
    """Narrow to C's `int16_t`, two's complement."""
    return (value + 2**15) % 2**16 - 2**15


def strtok(text: str, delimiter: str) -> list[str]:
    """Restate C's `strtok`: the non-empty pieces between delimiters."""
    return [piece for piece in text.split(delimiter) if piece]


def same_word(left: str, right: str) -> bool:
    """Restate C's `strcasecmp`: ASCII letters compare without case, everything else exactly."""
    return left.encode("utf-8", "surrogateescape").lower() == (
        right.encode("utf-8", "surrogateescape").lower()
    )


def trim(text: str) -> str:
    """Strip what C's `isspace` calls a blank, from both ends."""
    return text.strip(_SPACES)
