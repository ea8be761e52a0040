"""The text of systemd units and of the env files they name, as systemd's own parsers read it.

Restates `src/shared/conf-parser.c:config_parse` (the lines of a unit), `src/basic/extract-word.c:
extract_first_word` (words, with quotes and C escapes) and `src/basic/env-file.c:
parse_env_file_internal` (env files) of systemd 252 to 257.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final, NamedTuple

from specpreflight.sources.assignment import Assignment

_BLANKS: Final = " \t\n\r"
_LINE_END: Final = re.compile(r"\r\n|\n\r|\n|\r")
_SETTING: Final = re.compile(r"([^=]*?)[ \t]*=[ \t]*(.*)", re.DOTALL)
_ESCAPE: Final = re.compile(
    r"\\(?:x([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|([0-7]{3})|([abfnrtvs\\\"']))"
)
_CONTROLS: Final = {"a": "\a", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "s": " ", "t": "\t",
                    "v": "\v"}  # fmt: skip
_QUOTED: Final = {"'": "SINGLE_QUOTE_VALUE", '"': "DOUBLE_QUOTE_VALUE"}
_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


@dataclass(frozen=True, slots=True)
class Setting:
    """One `Name=value` of a unit, its continued lines joined."""

    section: str
    name: str
    value: str
    line: int
    path: str | None = None


def is_variable_name(name: str) -> bool:
    """Say whether systemd takes this as a variable's name; others it drops with a log line."""
    return _NAME.fullmatch(name) is not None


def read_settings(text: str, path: str | None = None) -> Iterator[Setting]:
    """Yield the settings in order; comment lines inside a continued value are left out."""
    section, pending, start = "", "", 0
    for number, line in enumerate(_LINE_END.split(text), start=1):
        line = line.lstrip(_BLANKS)
        if line.startswith(("#", ";")):
            continue
        start = start if pending else number
        pending += line
        if _is_continued(pending):
            pending = pending[:-1] + " "
            continue
        joined, pending = pending.strip(_BLANKS), ""
        if joined.startswith("[") and joined.endswith("]"):
            section = joined[1:-1]
        elif match := _SETTING.fullmatch(joined):
            yield Setting(section, match[1], match[2], start, path)
    if match := _SETTING.fullmatch(pending.strip(_BLANKS)):
        yield Setting(section, match[1], match[2], start, path)


def _is_continued(line: str) -> bool:
    """Say whether a line ends in a backslash that no other backslash escapes."""
    return (len(line) - len(line.rstrip("\\"))) % 2 == 1


class Words(NamedTuple):
    """The words of a value, and what systemd drops of it because it cannot be read."""

    words: list[str]
    dropped: str = ""


def split_words(text: str) -> Words:
    """Split the value of `Environment=` into words, quotes and C escapes undone.

    Quotes may stand anywhere, and escapes count within both kinds. From a quote that never closes
    or an escape that is none, systemd drops the rest of the line and keeps the words before it.
    """
    return _split(text, _read_escape)


def split_command(text: str) -> Words:
    """Split the value of `ExecStart=`: like `split_words`, but unknown escapes stay as written."""
    return _split(text, lambda text, at: _read_escape(text, at) or (text[at : at + 2], at + 2))


def _split(text: str, read_escape: Callable[[str, int], tuple[str, int] | None]) -> Words:
    words: list[str] = []
    word: str | None = None
    quote = ""
    at = start = 0
    while at < len(text):
        character = text[at]
        if word is None:
            start = at
        if character == "\\":
            escape = read_escape(text, at)
            if escape is None:
                return Words(words, text[start:])
            word = (word or "") + escape[0]
            at = escape[1]
            continue
        if quote:
            if character == quote:
                quote = ""
            else:
                word = (word or "") + character
        elif character in "\"'":
            quote = character
            word = word or ""
        elif character in _BLANKS:
            if word is not None:
                words.append(_as_text(word))
            word = None
        else:
            word = (word or "") + character
        at += 1
    if quote:
        return Words(words, text[start:])
    return Words(words if word is None else [*words, _as_text(word)])


def _as_text(word: str) -> str:
    """Join bytes that were escaped one by one to characters."""
    return word.encode("utf-8", "surrogateescape").decode("utf-8", "surrogateescape")


def _read_escape(text: str, at: int) -> tuple[str, int] | None:
    """Return the character of the escape at `at` and its end, `None` where it stands for none."""
    escape = _ESCAPE.match(text, at)
    if escape is None:
        return None
    byte, short, long, octal, control = escape.groups()
    if control is not None:
        return _CONTROLS.get(control, control), escape.end()
    if short or long:
        code = int(short or long, 16)
        valid = 0 < code <= 0x10FFFF and not 0xD800 <= code < 0xE000
        return (chr(code), escape.end()) if valid else None
    code = int(byte, 16) if byte else int(octal, 8)
    if not 0 < code <= 0xFF:
        return None
    return bytes([code]).decode("utf-8", "surrogateescape"), escape.end()


def read_unit_env_file(text: str) -> Iterator[Assignment]:
    """Yield the assignments of a file that `EnvironmentFile=` names, the refused ones with a note.

    It is neither docker's nor dotenv's dialect: quotes are undone, `#` begins a comment only at the
    start of a line, a backslash joins lines, nothing is expanded, and `export ` makes a name that
    systemd drops.
    """
    reader = _EnvFileReader()
    line = 1
    for place, character in enumerate(text):
        yield from reader.take(character, line)
        line += character == "\n" or (character == "\r" and text[place + 1 : place + 2] != "\n")
    yield from reader.end()


class _EnvFileReader:
    """The state machine of `parse_env_file_internal`, under the names it has there."""

    def __init__(self) -> None:
        self._state = "PRE_KEY"
        self._key = self._value = ""
        self._trimmed = 0
        self._line = 1

    def take(self, character: str, line: int) -> Iterator[Assignment]:
        ends = character in "\n\r"
        match self._state:
            case "PRE_KEY":
                if character in "#;":
                    self._state = "COMMENT"
                elif character not in _BLANKS:
                    self._state, self._key, self._line = "KEY", character, line
            case "COMMENT":
                self._state = "PRE_KEY" if ends else "COMMENT"
            case "KEY" if ends:
                self._state = "PRE_KEY"
            case "KEY" if character == "=":
                self._state, self._value, self._trimmed = "PRE_VALUE", "", 0
            case "KEY":
                self._key += character
            case "PRE_VALUE" | "VALUE" if ends:
                yield self._assignment()
            case "PRE_VALUE" if character in _QUOTED:
                self._state = _QUOTED[character]
            case "PRE_VALUE" if character in _BLANKS:
                pass
            case "PRE_VALUE" | "VALUE" if character == "\\":
                self._state = "VALUE_ESCAPE"
                self._add("")
            case "PRE_VALUE" | "VALUE":
                self._state = "VALUE"
                self._add(character, trimmed=character in _BLANKS)
            case "VALUE_ESCAPE":
                self._state = "VALUE"
                self._add("" if ends else character)
            case "SINGLE_QUOTE_VALUE" if character != "'":
                self._add(character)
            case "DOUBLE_QUOTE_VALUE" if character not in '"\\':
                self._add(character)
            case "SINGLE_QUOTE_VALUE" | "DOUBLE_QUOTE_VALUE":
                self._state = "DOUBLE_QUOTE_VALUE_ESCAPE" if character == "\\" else "PRE_VALUE"
            case "DOUBLE_QUOTE_VALUE_ESCAPE":
                self._state = "DOUBLE_QUOTE_VALUE"
                kept = "" if character in '"\\`$' else "\\"
                self._add("" if character == "\n" else kept + character)

    def end(self) -> Iterator[Assignment]:
        """Yield what the end of the file completes."""
        if self._state not in ("PRE_KEY", "KEY", "COMMENT"):
            yield self._assignment()

    def _add(self, text: str, *, trimmed: bool = False) -> None:
        self._value += text
        if not trimmed:
            self._trimmed = len(self._value)

    def _assignment(self) -> Assignment:
        self._state = "PRE_KEY"
        name = self._key.rstrip(_BLANKS)
        refused = "" if is_variable_name(name) else "systemd drops it: no name of a variable"
        return Assignment(name, self._value[: self._trimmed], self._line, 1, refused)
