"""What words become: parameters, commands, arithmetic, braces, splitting (bash manual 3.5).

Files are not looked at, so a pattern stays as it is written, which is also what bash leaves of one
that matches nothing.
"""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from specpreflight.models.command import find_markers
from specpreflight.sources.shell import arithmetic
from specpreflight.sources.shell.braces import expand_braces
from specpreflight.sources.shell.lexer import Lexer
from specpreflight.sources.shell.syntax import (
    Arithmetic,
    Literal,
    Parameter,
    Part,
    Substitution,
    Word,
)
from specpreflight.sources.shell.variables import Variables, is_marker, protect

_DEFAULT_IFS = " \t\n"
#: No launch has more words; `{1..1000000}` stands for a mistake.
_MOST_WORDS = 10_000
_OPERATION = re.compile(r":?[-=+?]|##?|%%?|//?#?%?|\^\^?|,,?|@|:")


class _Piece(NamedTuple):
    """Text of an expanded word: whether it may be split, and whether its `*` are characters."""

    text: str
    splits: bool
    quoted: bool


class Expansion:
    """Expands words with the variables of a shell.

    Attributes:
        positional: `$1`, `$2`, …; `program` is `$0`. While these are the script's own `arguments`
            and there are none, their number is a guess.
        substitute: returns the output of a command substitution.
        cautious: set while a condition is evaluated. An unset variable is then empty, as it is
            for bash, and `guessed` notes that the caller might have set it; with `assume_set` it
            counts as set.
        decided_by: commands whose unknown output a condition has looked at.
    """

    def __init__(
        self,
        variables: Variables,
        positional: Sequence[str],
        program: str,
        substitute: Callable[[str], str],
    ) -> None:
        self.variables = variables
        self.arguments = list(positional)
        self.positional = self.arguments
        self.program = program
        self.substitute = substitute
        self.cautious = False
        self.assume_set = False
        self.guessed = False
        self.decided_by: list[str] = []

    def guess_from(self, *texts: str) -> None:
        """Note a test on texts: it is a guess where they hold what nobody knows."""
        markers = find_markers(texts)
        self.guessed |= bool(markers)
        self.decided_by.extend(marker for marker in markers if marker.startswith("$("))

    # Words

    def fields(self, words: Sequence[Word]) -> list[str]:
        """Return the words that a command is given."""
        found: list[str] = []
        for word in words:
            for parts in expand_braces(list(word.parts)):
                found.extend(self._split(parts))
                if len(found) > _MOST_WORDS:
                    return found
        return found

    def text(self, word: Word) -> str:
        """Return a word as one text (the value of an assignment, the subject of `case`)."""
        return self._joined(word.parts)

    def pattern(self, word: Word) -> str:
        """Return the regular expression of a glob pattern; quoted characters are literal."""
        return "".join(_glob(piece.text, piece.quoted) for piece in self._texts(word.parts))

    def regex(self, word: Word) -> str:
        """Return the right side of `=~`; quoted characters are literal."""
        return "".join(
            re.escape(piece.text) if piece.quoted else piece.text
            for piece in self._texts(word.parts)
        )

    def elements(self, words: Sequence[Word]) -> dict[str, str]:
        """Return an array literal's elements by index or key."""
        found: dict[str, str] = {}
        index = 0
        for word in words:
            keyed = _split_key(word)
            if keyed is not None:
                found[self._joined(keyed[0])] = self._joined(keyed[1])
                continue
            for field in self.fields([word]):
                found[str(index)] = field
                index += 1
        return found

    def _joined(self, parts: Sequence[Part]) -> str:
        return "".join(piece.text for piece in self._texts(parts))

    def _texts(self, parts: Sequence[Part]) -> Iterator[_Piece]:
        """Yield the pieces; several fields are joined by blanks."""
        pending = ""
        for piece in self._pieces(parts):
            if piece is None:
                pending = " "
                continue
            if pending:
                yield _Piece(pending, False, True)
                pending = ""
            yield piece

    def _split(self, parts: Sequence[Part]) -> Iterator[str]:
        separators = self.variables.text("IFS")
        separators = _DEFAULT_IFS if separators is None else separators
        field: str | None = None
        for piece in self._pieces(parts):
            if piece is None:
                if field is not None:
                    yield field
                field = None
            elif not piece.splits or not separators:
                if piece.text or not piece.splits:
                    field = (field or "") + piece.text
            else:
                first, *rest = split_fields(piece.text, separators)
                if first is not None:
                    field = (field or "") + first
                for part in rest:
                    if field is not None:
                        yield field
                    field = part
        if field is not None:
            yield field

    def _pieces(self, parts: Sequence[Part]) -> Iterator[_Piece | None]:
        """Yield pieces, and `None` between fields."""
        for part in parts:
            if isinstance(part, Literal):
                yield _Piece(part.text, False, part.quoted)
            elif isinstance(part, Substitution):
                if part.process:
                    yield _Piece(protect(f"{part.process}({part.script})"), False, True)
                else:
                    yield _expanded(self.substitute(part.script).rstrip("\n"), part.quoted)
            elif isinstance(part, Arithmetic):
                yield _expanded(self.arithmetic(part.expression), part.quoted)
            elif part.index in ("@", "*") or part.name in ("@", "*"):
                yield from self._list(part)
            elif (operand := self._default(part)) is not None:
                for piece in self._pieces(operand.parts):
                    splits = piece is not None and not piece.quoted and not part.quoted
                    yield piece and piece._replace(splits=splits)
            else:
                yield _expanded(self._parameter(part), part.quoted)

    def _list(self, part: Parameter) -> Iterator[_Piece | None]:
        items = self._items(part)
        if part.prefix == "#":
            yield _expanded(str(len(items)), part.quoted)
            return
        star = (part.index or part.name) == "*"
        if part.quoted and star:
            separators = self.variables.text("IFS")
            joined = (" " if separators is None else separators[:1]).join(items)
            yield _expanded(joined, quoted=True)
            return
        for at, item in enumerate(items):
            if at:
                yield None
            yield _expanded(item, part.quoted)

    def _items(self, part: Parameter) -> list[str]:
        """Return the values of `$@` or `${name[@]}`, after the operation that follows."""
        if part.name in ("@", "*"):
            items = self.positional
        else:
            elements = self.variables.elements(part.name)
            if part.prefix == "!":
                return list(elements)
            items = list(elements.values())
            cell = self.variables.find(part.name)
            if cell is None and not part.rest and part.name not in self.variables.assigned:
                items = [f"${{{part.name}[{part.index}]}}"]
        if part.rest[:1] == ":" and part.rest[1:2] not in ("-", "=", "+", "?", ""):
            start, length = self._range(part.rest[1:])
            shown = [self.program, *items] if part.name in ("@", "*") else items
            return shown[start:][:length]
        operator, operand = _operation(part.rest)
        if operator[-1:] in ("-", "=", "+", "?") and operator:
            used = bool(items) == (operator[-1] == "+")
            return (
                self.fields([Lexer(operand).operand(part.quoted)])
                if used
                else ([] if operator[-1] == "+" else items)
            )
        return [self._edit(item, operator, operand) for item in items] if operator else items

    # Parameters

    def parameter_text(self, name: str, index: str | None = None) -> str | None:
        """Return the value of a parameter, `None` where it is unset."""
        if name.isdigit():
            if name == "0":
                return self.program
            at = int(name) - 1
            return self.positional[at] if at < len(self.positional) else None
        if name == "#":
            self.guessed |= self.positional is self.arguments and not self.positional
        special = {"#": str(len(self.positional)), "?": "0", "-": ""}
        if name in special:
            return special[name]
        if name in ("@", "*"):
            return " ".join(self.positional)
        if name == "BASH_SOURCE":
            return self.program
        if index is not None:
            index = self.index_text(name, index)
        return self.variables.text(name, index)

    def index_text(self, name: str, index: str) -> str:
        """Return the index of `name[index]`: a number, or a key of an associative array."""
        cell = self.variables.find(name)
        keyed = (
            cell is not None
            and isinstance(cell.value, dict)
            and not all(key.isdigit() for key in cell.value)
        )
        text = self._joined(Lexer(index).operand(quoted=True).parts)
        return text if keyed else self.arithmetic(text)

    def _parameter(self, part: Parameter) -> str:
        if part.prefix == "#":
            value = self.parameter_text(part.name, part.index)
            return str(len(value or ""))
        name = part.name
        if part.prefix == "!":
            pointed = self.parameter_text(name, part.index)
            if pointed is None or not re.fullmatch(r"\w+", pointed):
                return f"${{!{name}}}"
            name = pointed
        value = self.parameter_text(name, part.index)
        operator, operand = _operation(part.rest)
        kind = operator[-1:]
        if kind and kind in "-=+?":
            return self._alternative(name, value, operator, operand, part.quoted)
        if value is None or (self.cautious and is_marker(value)):
            if self.cautious:
                self.guessed |= name not in self.variables.assigned
                if not self.assume_set:
                    return ""
            return value if value is not None else self.variables.unset_text(name)
        return self._edit(value, operator, operand) if operator else value

    def _alternative(
        self, name: str, value: str | None, operator: str, operand: str, quoted: bool
    ) -> str:
        """Do `:-`, `:=`, `:+` and `:?`, and the same without the colon."""
        unset = value is None or is_marker(value) or (operator[0] == ":" and value == "")
        kind = operator[-1]
        if kind == "+":
            return "" if unset else self._operand(operand, quoted)
        if not unset and value is not None:
            return value
        if kind == "?":
            return value or self.variables.unset_text(name) or f"${{{name}}}"
        default = self._operand(operand, quoted)
        if kind == "=":
            self.variables.assign(name, default)
        return default

    def _default(self, part: Parameter) -> Word | None:
        """Return the word of `${NAME:-word}` where it stands for the value."""
        operator, operand = _operation(part.rest)
        if operator not in ("-", ":-", "+", ":+") or part.prefix:
            return None
        value = self.parameter_text(part.name, part.index)
        unset = value is None or is_marker(value) or (operator[0] == ":" and value == "")
        return Lexer(operand).operand(part.quoted) if unset == (operator[-1] == "-") else None

    def _operand(self, text: str, quoted: bool) -> str:
        return self._joined(Lexer(text).operand(quoted).parts)

    def _edit(self, value: str, operator: str, operand: str) -> str:
        """Cut, replace or change the case of a value."""
        if operator == ":":
            start, length = self._range(operand)
            return value[start:][:length]
        if operator[0] == "@":
            return "'" + value.replace("'", "'\\''") + "'" if operand == "Q" else value
        if operator[0] in "^,":
            change = str.upper if operator[0] == "^" else str.lower
            whole = len(operator) == 2
            return change(value) if whole else change(value[:1]) + value[1:]
        if operator[0] == "/":
            searched, _, replacement = _unescaped_partition(operand)
            pattern = self.pattern(Lexer(searched).operand(quoted=False))
            anchor = operator.lstrip("/")
            pattern = ("^" if anchor == "#" else "") + pattern + ("$" if anchor == "%" else "")
            new = self._operand(replacement, quoted=False)
            return re.sub(
                pattern, lambda _: new, value, count=0 if operator == "//" else 1, flags=re.DOTALL
            )
        pattern = self.pattern(Lexer(operand).operand(quoted=False))
        matcher = re.compile(pattern, re.DOTALL)
        lengths = range(len(value) + 1)
        if operator[0] == "#":
            ends = [at for at in lengths if matcher.fullmatch(value[:at])]
            return value[(max(ends) if operator == "##" else min(ends)) :] if ends else value
        starts = [at for at in lengths if matcher.fullmatch(value[at:])]
        return value[: (min(starts) if operator == "%%" else max(starts))] if starts else value

    def _range(self, text: str) -> tuple[int, int | None]:
        start, _, length = text.partition(":")
        first = self.arithmetic(self._operand(start, quoted=True))
        count = self.arithmetic(self._operand(length, quoted=True)) if length else ""
        return (
            int(first) if first.lstrip("-").isdigit() else 0,
            int(count) if count.isdigit() else None,
        )

    def arithmetic(self, expression: str) -> str:
        """Return the result of an expression, or the expression as a marker."""
        text = self._operand(expression, quoted=True)
        try:
            return str(arithmetic.evaluate(text, self._number, self._store))
        except arithmetic.UnknownValueError:
            return protect(f"$(({text}))")

    def _number(self, name: str) -> str | None:
        base, bracket, index = name.partition("[")
        value = self.parameter_text(base, index[:-1] if bracket else None)
        return "0" if value is None and base in self.variables.assigned else value

    def _store(self, name: str, value: str) -> None:
        base, bracket, index = name.partition("[")
        if bracket:
            self.variables.set_element(base, self.index_text(base, index[:-1]), value, None, 0)
        else:
            self.variables.assign(base, value)


def split_fields(text: str, separators: str) -> list[str | None]:
    """Split text by IFS; a first `None` means that the text begins with a separator.

    Blanks in `separators` count once however many there are, other characters each; a last
    separator ends a field (the list then ends in `None`).
    """
    blanks = "".join(set(separators) & set(_DEFAULT_IFS))
    others = "".join(set(separators) - set(_DEFAULT_IFS))
    rest = text.lstrip(blanks) if blanks else text
    led = len(rest) < len(text)
    if not rest:
        return [None, None] if led else [None]
    inner = "[" + re.escape(blanks) + "]" if blanks else "(?!)"
    other = "[" + re.escape(others) + "]" if others else "(?!)"
    pattern = f"{inner}*{other}{inner}*|{inner}+"
    parts: list[str | None] = list(re.split(pattern, rest))
    if len(parts) > 1 and parts[-1] == "":
        parts[-1] = None
    return [None, *parts] if led else parts


def _expanded(text: str, quoted: bool) -> _Piece:
    return _Piece(text, not quoted, quoted)


def _operation(rest: str) -> tuple[str, str]:
    match = _OPERATION.match(rest)
    return (match.group(), rest[match.end() :]) if match else ("", rest)


def _unescaped_partition(text: str) -> tuple[str, str, str]:
    """Split `pattern/replacement` at the first slash that is not escaped."""
    at = 0
    while at < len(text):
        if text[at] == "\\":
            at += 2
        elif text[at] == "/":
            return text[:at], "/", text[at + 1 :]
        else:
            at += 1
    return text, "", ""


def _glob(text: str, quoted: bool) -> str:
    if quoted:
        return re.escape(text)
    translated = fnmatch.translate(text)
    return translated[len("(?s:") : translated.rindex(")")]


def _split_key(word: Word) -> tuple[list[Part], list[Part]] | None:
    """Return the key and the value of `[key]=value`, `None` for a plain element."""
    first = word.parts[0] if word.parts else None
    if not isinstance(first, Literal) or first.quoted or not first.text.startswith("["):
        return None
    parts = [Literal(first.text[1:]), *word.parts[1:]]
    for at, part in enumerate(parts):
        if isinstance(part, Literal) and not part.quoted and "]=" in part.text:
            key, _, value = part.text.partition("]=")
            return [*parts[:at], Literal(key)], [Literal(value), *parts[at + 1 :]]
    return None
