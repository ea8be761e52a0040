"""The dotenv dialect of env files, as python-dotenv 1.2.4 reads it (`parser.py`, `variables.py`).

Compose's `env_file` and most shells agree on quotes and comments; where docker's own
`--env-file` would read something else, the assignment's note says so.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Final

from specpreflight.errors import InputError
from specpreflight.sources.assignment import Assignment

_BLANKS: Final = re.compile(r"[^\S\r\n]*")
_BLANK_LINES: Final = re.compile(r"\s*")
_EXPORT: Final = re.compile(r"export[^\S\r\n]+")
_NAME: Final = re.compile(r"'(?P<quoted>[^']+)'|(?P<plain>[^=\#\s'][^=\#\s]*)")
_EQUALS: Final = re.compile(r"=[^\S\r\n]*")
_SINGLE: Final = re.compile(r"'((?:\\.|[^'\\])*)'", re.DOTALL)
_DOUBLE: Final = re.compile(r'"((?:\\.|[^"\\])*)"', re.DOTALL)
_UNQUOTED: Final = re.compile(r"([^\r\n]*)")
_END: Final = re.compile(r"(?:[^\S\r\n]*#[^\r\n]*)?[^\S\r\n]*(?:\r\n|\n|\r|$)")
_LINE_BREAK: Final = re.compile(r"\r\n|\n|\r")
_REFERENCE: Final = re.compile(r"\$\{([^}:]*)(?::-([^}]*))?\}")
_ESCAPES: Final = {
    "'": re.compile(r"\\[\\']"),
    '"': re.compile(r"\\[\\'\"abfnrtv]"),
}
_ESCAPED: Final = {"a": "\a", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v"}


class _Scanner:
    """A position in a text that advances by regular expressions."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.position = 0
        self.line = 1

    def take(self, pattern: re.Pattern[str]) -> re.Match[str] | None:
        match = pattern.match(self.text, self.position)
        if match is not None:
            self.position = match.end()
            self.line += len(_LINE_BREAK.findall(match.group()))
        return match

    def next_character(self) -> str:
        return self.text[self.position : self.position + 1]


def read_dotenv(text: str, given: str, surroundings: Mapping[str, str]) -> Iterator[Assignment]:
    """Yield the assignments of a dotenv text; earlier lines and `surroundings` fill `${NAME}`.

    Raises:
        InputError: a line is no assignment (python-dotenv would skip it with a warning).
    """
    known = dict(surroundings)
    scanner = _Scanner(text)
    while True:
        scanner.take(_BLANK_LINES)
        if scanner.position >= len(text):
            return
        line = scanner.line
        column = scanner.position - text.rfind("\n", 0, scanner.position)
        exported = scanner.take(_EXPORT) is not None
        name = _take_name(scanner)
        raw = quote = ""
        value: str | None = None
        if name:
            scanner.take(_BLANKS)
            equals = scanner.take(_EQUALS)
            if equals is not None and len(equals.group()) > 1 and scanner.next_character() == "#":
                value = ""
            elif equals is not None:
                quote, raw, value = _take_value(scanner, given, line)
        if name is None or not scanner.take(_END):
            raise InputError(
                f"{given}:{line}: not a NAME=VALUE line; dotenv readers would skip it",
                hint="a shell script is read as a launch FILE, not as an env file",
            )
        if name:
            expanded = None if value is None else _expand(value, known)
            if expanded is not None:
                known[name] = expanded
            note = _docker_differs(raw, value, expanded, quote)
            if exported:
                note = "docker run --env-file refuses a line with `export`"
            yield Assignment(name, expanded, line, column, note)


def _take_name(scanner: _Scanner) -> str | None:
    """Return the name, empty before a comment, or `None` where neither stands."""
    if scanner.next_character() == "#":
        return ""
    match = scanner.take(_NAME)
    return None if match is None else (match["quoted"] or match["plain"])


def _take_value(scanner: _Scanner, given: str, line: int) -> tuple[str, str, str]:
    """Return `(quote, text as written, value)`."""
    quote = scanner.next_character()
    if quote in _ESCAPES:
        match = scanner.take(_SINGLE if quote == "'" else _DOUBLE)
        if match is None:
            raise InputError(f"{given}:{line}: the quote {quote} is never closed")
        raw = match.group(1)
        return quote, raw, _ESCAPES[quote].sub(_unescape, raw)
    match = scanner.take(_UNQUOTED)
    raw = "" if match is None else match.group(1)
    return "", raw, re.sub(r"\s+#.*", "", raw).rstrip()


def _unescape(match: re.Match[str]) -> str:
    character = match.group()[1]
    return _ESCAPED.get(character, character)


def _expand(value: str, known: Mapping[str, str]) -> str:
    """Restate `main.py:resolve_variables`: an unknown name without default is empty."""
    return _REFERENCE.sub(lambda match: known.get(match[1], match[2] or ""), value)


def _docker_differs(raw: str, value: str | None, expanded: str | None, quote: str) -> str:
    if value != expanded:
        if quote == "'":
            return "Compose and docker keep `${…}` inside single quotes; python-dotenv expands it"
        return "docker run --env-file keeps `${…}`; dotenv readers expand it"
    if quote:
        return "docker run --env-file keeps the quotes; dotenv readers drop them"
    if raw.rstrip() != value and value is not None:
        return "docker run --env-file keeps the comment; dotenv readers cut it off"
    return ""
