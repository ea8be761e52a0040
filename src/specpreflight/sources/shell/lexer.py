"""The characters of a script: blanks, comments, words with their quotes, redirections."""

from __future__ import annotations

import re
from collections.abc import Iterator

from specpreflight.sources.shell.syntax import (
    Arithmetic,
    Literal,
    Parameter,
    Part,
    Redirect,
    Substitution,
    Word,
)

_META = frozenset(" \t\n;&|<>()")
_OPERATOR = re.compile(r"(\d*|\{\w+\})(&>>|&>|<<<|<<-|<<|>>|>\||>&|<&|<>|>|<)")
_RESERVED = re.compile(r"[^\s;&|<>()'\"\\$`]+")
_PARAMETER = re.compile(r"[A-Za-z_]\w*|\d|[@*#?$!-]")
_BRACED = re.compile(r"(\d+|[A-Za-z_]\w*|[@*#?$!-])(?:\[([^\]]*)\])?")
#: `<model-path>` in a document's example: a shell takes it for two redirections, its reader
#: for something to fill in. No launch redirects its input from a file glued to `>`.
_PLACEHOLDER = re.compile(r"<[A-Za-z][\w./-]*(?: [\w./-]+)*>(?=[\s/]|\\|$)")
_ANSI = {"n": "\n", "t": "\t", "r": "\r", "a": "\a", "b": "\b", "e": "\x1b", "f": "\f", "v": "\v"}


class ShellSyntaxError(Exception):
    """Where bash stops reading, with the reason and the line (1-based)."""

    def __init__(self, message: str, line: int) -> None:
        super().__init__(message)
        self.message = message
        self.line = line


class Lexer:
    """A cursor over the text of a script."""

    def __init__(self, text: str, line: int = 1) -> None:
        self.text = text
        self.at = 0
        self.line = line
        self.last_reserved = ""
        self._documents: list[tuple[str, bool, bool, list[Part]]] = []

    def error(self, message: str) -> ShellSyntaxError:
        """Return the syntax error at the cursor."""
        return ShellSyntaxError(message, self.line)

    def peek(self, count: int = 1) -> str:
        """Return the next characters without taking them."""
        return self.text[self.at : self.at + count]

    def take(self, count: int) -> str:
        """Return the next characters and move past them."""
        taken = self.text[self.at : self.at + count]
        self.at += count
        self.line += taken.count("\n")
        return taken

    def at_end(self) -> bool:
        """Say whether everything has been read."""
        return self.at >= len(self.text)

    def skip_blanks(self) -> None:
        """Move past blanks, joined lines and a comment."""
        while True:
            if self.peek() in (" ", "\t"):
                self.take(1)
            elif self.peek(2) == "\\\n":
                self.take(2)
            elif self.peek() == "\\" and self.at + 1 == len(self.text):
                self.take(1)
            elif self.peek() == "#":
                end = self.text.find("\n", self.at)
                self.take((len(self.text) if end < 0 else end) - self.at)
            else:
                return

    def skip_lines(self) -> bool:
        """Move past blanks, comments and ends of lines; say whether there was such an end.

        Here-documents begin after the first one, and are read on the way.
        """
        self.skip_blanks()
        ended = False
        while self.peek() == "\n":
            ended = True
            self.take(1)
            self._read_documents()
            self.skip_blanks()
        return ended

    def ends_word(self) -> bool:
        """Say whether the cursor stands behind a word."""
        return self.at_end() or self.peek() in _META

    def ends_command(self) -> bool:
        """Say whether a simple command cannot go on here."""
        return self.at_end() or (
            self.peek() in "\n;|)" or (self.peek() == "&" and self.peek(2) != "&>")
        )

    def peek_reserved(self) -> str:
        """Return the unquoted word at the cursor, as far as it can be a reserved one."""
        found = _RESERVED.match(self.text, self.at)
        return found.group() if found else ""

    def reserved(self, word: str) -> bool:
        """Say whether exactly this reserved word stands at the cursor."""
        return self.peek_reserved() == word and (
            self.text[self.at + len(word) : self.at + len(word) + 1] in ("", *" \t\n;&|()<>")
        )

    def ahead(self, *words: str) -> bool:
        """Say whether one of these reserved words or operators comes next."""
        self.skip_blanks()
        return any(
            self.text.startswith(word, self.at)
            if word in (")", ";;", ";&")
            else self.reserved(word)
            for word in words
        )

    def take_reserved(self) -> str:
        """Take the reserved word at the cursor."""
        self.last_reserved = self.take(len(self.peek_reserved()))
        return self.last_reserved

    def expect(self, word: str) -> None:
        """Take this reserved word, or stop."""
        self.skip_lines()
        if not self.reserved(word):
            raise self.error(f"{self.peek(12)!r} where {word!r} is expected")
        self.take_reserved()

    # Redirections and here-documents

    def redirect(self) -> Redirect | None:
        """Read a redirection if one stands here."""
        self.skip_blanks()
        match = _OPERATOR.match(self.text, self.at)
        if (
            match is None
            or self.peek(2) in ("<(", ">(")
            or (not match.group(1) and _PLACEHOLDER.match(self.text, self.at))
        ):
            return None
        self.take(match.end() - self.at)
        operator = match.group(2)
        self.skip_blanks()
        if operator in ("<<", "<<-"):
            return Redirect("<<", self._document(operator == "<<-"))
        return Redirect(match.group(1) + operator, self.word())

    def _document(self, tabs: bool) -> Word:
        """Note a here-document, whose body begins on the next line."""
        delimiter = self.word()
        expanded = all(not (isinstance(part, Literal) and part.quoted) for part in delimiter.parts)
        text = "".join(part.text for part in delimiter.parts if isinstance(part, Literal))
        parts: list[Part] = []
        self._documents.append((text, tabs, expanded, parts))
        return Word(parts, self.line)

    def _read_documents(self) -> None:
        """Read the bodies of the here-documents that the line before asked for."""
        for delimiter, tabs, expanded, parts in self._documents:
            lines = []
            first = self.line
            while not self.at_end():
                end = self.text.find("\n", self.at)
                line = self.take((len(self.text) if end < 0 else end + 1) - self.at)
                line = line.lstrip("\t") if tabs else line
                if line.rstrip("\n") == delimiter:
                    break
                lines.append(line)
            body = "".join(lines)
            if expanded:
                parts.extend(Lexer(body, first).quoted_parts("", open_end=True))
            else:
                parts.append(Literal(body, quoted=True))
        self._documents = []

    # Words

    def word(self) -> Word:
        """Read one word.

        Raises:
            ShellSyntaxError: a quote or parenthesis that is not closed, or no word at all.
        """
        line = self.line
        parts: list[Part] = []
        placeholder = _PLACEHOLDER.match(self.text, self.at)
        if placeholder:
            parts.append(Literal(self.take(len(placeholder.group())), quoted=True))
        elif self.peek(2) in ("<(", ">("):
            sign = self.take(2)[0]
            parts.append(Substitution(self._parenthesized(), process=sign))
        parts.extend(self._unquoted_parts(_META))
        if not parts:
            raise self.error(f"unexpected token near {self.peek(12)!r}")
        return Word(parts, line)

    def operand(self, quoted: bool) -> Word:
        """Read all of the text as the word of `${NAME:-word}`, `quoted` as the expansion is.

        Blanks do not end it; between double quotes, single quotes are characters, and double
        quotes are dropped.
        """
        if not quoted:
            return Word(self._unquoted_parts(frozenset()), self.line)
        parts: list[Part] = []
        while not self.at_end():
            parts.extend(self.quoted_parts('"', open_end=True))
            self.take(1)
        return Word(parts, self.line)

    def _unquoted_parts(self, ends: frozenset[str]) -> list[Part]:
        """Read parts up to one of the characters or the end of the text."""
        parts: list[Part] = []
        start = self.at
        while not self.at_end() and self.peek() not in ends:
            character = self.peek()
            if character not in "\\'\"$`":
                self.take(1)
                continue
            self._plain(parts, start)
            if self.peek(2) == "\\\n":
                self.take(2)
            elif character == "\\":
                parts.append(Literal(self.take(2)[1:] or "\\", quoted=True))
            elif character == "'":
                parts.append(Literal(self._single_quoted(), quoted=True))
            elif self.peek(2) == "$'":
                self.take(1)
                parts.append(Literal(self._ansi_quoted(), quoted=True))
            elif character == '"' or self.peek(2) == '$"':
                self.take(1 if character == '"' else 2)
                parts.extend(self.quoted_parts('"') or [Literal("", quoted=True)])
                self.take(1)
            else:
                parts.append(self._expansion(quoted=False))
            start = self.at
        self._plain(parts, start)
        return parts

    def _plain(self, parts: list[Part], start: int) -> None:
        """Add the unquoted text from `start` to the cursor."""
        if self.at > start:
            parts.append(Literal(self.text[start : self.at]))

    def _single_quoted(self) -> str:
        end = self.text.find("'", self.at + 1)
        if end < 0:
            raise self.error("a single quote that is not closed")
        return self.take(end + 1 - self.at)[1:-1]

    def _ansi_quoted(self) -> str:
        match = re.compile(r"'((?:[^'\\]|\\.)*)'", re.DOTALL).match(self.text, self.at)
        if match is None:
            raise self.error("a quote that is not closed")
        self.take(match.end() - self.at)

        def replace(escape: re.Match[str]) -> str:
            code = escape.group(1)
            if code[0] in "xuU" and len(code) > 1:
                return chr(int(code[1:], 16))
            if code[0] in "01234567":
                return chr(int(code, 8))
            return _ANSI.get(code, code)

        pattern = r"\\(x[0-9a-fA-F]{1,2}|u[0-9a-fA-F]{1,4}|U[0-9a-fA-F]{1,8}|[0-7]{1,3}|.)"
        return re.sub(pattern, replace, match.group(1), flags=re.DOTALL)

    def quoted_parts(self, closing: str, open_end: bool = False) -> list[Part]:
        """Read text as between double quotes, up to `closing`, or to the end if that is allowed."""
        parts: list[Part] = []
        plain: list[str] = []
        while self.at_end() or self.peek() != closing:
            if self.at_end():
                if not open_end:
                    raise self.error("a double quote that is not closed")
                break
            if self.peek() in "$`":
                if plain:
                    parts.append(Literal("".join(plain), quoted=True))
                    plain = []
                parts.append(self._expansion(quoted=True))
            elif self.peek() == "\\":
                pair = self.take(2)
                if pair != "\\\n":
                    escaped = pair[1:] in ("$", "`", "\\") or (closing and pair[1:] == closing)
                    plain.append(pair[1:] if escaped else pair)
            else:
                plain.append(self.take(1))
        if plain:
            parts.append(Literal("".join(plain), quoted=True))
        return parts

    def _expansion(self, quoted: bool) -> Part:
        """Read what `$` or a backquote begins."""
        if self.peek() == "`":
            self.take(1)
            script = []
            while self.peek() != "`":
                if self.at_end():
                    raise self.error("a backquote that is not closed")
                pair = self.peek(2)
                if pair[:1] == "\\":
                    self.take(2)
                    script.append(pair[1:] if pair[1:] in ("$", "`", "\\") else pair)
                else:
                    script.append(self.take(1))
            self.take(1)
            return Substitution("".join(script), quoted)
        if self.peek(3) == "$((":
            start, line = self.at, self.line
            self.take(1)
            expression = self.arithmetic_command()
            if expression is not None:
                return Arithmetic(expression, quoted)
            self.at, self.line = start, line
        if self.peek(2) == "$(":
            self.take(2)
            return Substitution(self._parenthesized(), quoted)
        if self.peek(2) == "${":
            return self._braced(quoted)
        named = _PARAMETER.match(self.text, self.at + 1)
        if named is None:
            return Literal(self.take(1), quoted)
        self.take(1 + len(named.group()))
        return Parameter(named.group(), quoted=quoted)

    def _braced(self, quoted: bool) -> Part:
        self.take(2)
        prefix = ""
        if self.peek() in "!#" and re.match(r"[!#][\w@*]", self.peek(2)):
            prefix = self.take(1)
        named = _BRACED.match(self.text, self.at)
        if named is None:
            raise self.error(f"bad substitution near {self.peek(12)!r}")
        self.take(len(named.group()))
        start = self.at
        self._skip_balanced("}")
        rest = self.text[start : self.at - 1]
        return Parameter(named.group(1), named.group(2), rest, prefix, quoted)

    def _parenthesized(self) -> str:
        start = self.at
        self._skip_balanced(")")
        return self.text[start : self.at - 1]

    def arithmetic_command(self) -> str | None:
        """Read `((…))`; `None`, with the cursor where it was, if it closes with a single `)`."""
        start, line = self.at, self.line
        self.take(2)
        inner = self.at
        self._skip_balanced(")")
        if self.peek() == ")":
            expression = self.text[inner : self.at - 1]
            self.take(1)
            return expression
        self.at, self.line = start, line
        return None

    def _skip_balanced(self, closing: str) -> None:
        """Move past `closing`, over quotes and whatever opens and closes on the way."""
        depth = 1
        while depth:
            if self.at_end():
                raise self.error(f"end of file where {closing!r} is missing")
            character = self.peek()
            if character == "\\":
                self.take(2)
            elif character == "'" and closing == ")":
                self._single_quoted()
            elif character == '"':
                self.take(1)
                self.quoted_parts('"')
                self.take(1)
            elif self.peek(2) == "${":
                self._braced(quoted=False)
            elif self.peek(2) == "$(" and closing == "}":
                self._expansion(quoted=False)
            elif closing == ")" and character == "#" and self.text[self.at - 1] in " \t\n":
                self.skip_blanks()
            else:
                depth += character == "(" and closing == ")"
                depth -= character == closing
                self.take(1)

    def condition_tokens(self) -> Iterator[Word | str]:
        """Yield the words and operators of `[[ … ]]`."""
        expression = False
        while True:
            self.skip_lines()
            if self.at_end():
                raise self.error("end of file where ']]' is missing")
            if self.reserved("]]"):
                self.take(2)
                return
            if expression:
                yield self._pattern()
                expression = False
            elif self.peek(2) in ("&&", "||"):
                yield self.take(2)
            elif self.peek() in "()<>":
                yield self.take(1)
            else:
                word = self.word()
                expression = word.plain() == "=~"
                yield word

    def _pattern(self) -> Word:
        """Read a regular expression, in which parentheses and bars are characters."""
        parts: list[Part] = []
        depth = 0
        while not self.at_end() and not (self.peek() in " \t\n" and depth == 0):
            if self.peek() in "'\"$\\":
                parts.extend(self.word().parts)
                continue
            depth += {"(": 1, ")": -1}.get(self.peek(), 0)
            parts.append(Literal(self.take(1)))
        return Word(tuple(parts), self.line)
