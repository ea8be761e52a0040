"""Bash's grammar (bash 5.2 reference manual, chapter 3), read the way bash does: line by line.

A script with a syntax error near its end still runs up to there, so `parse` yields the commands of
each complete line as soon as it has been read, and raises only when it comes to the broken one.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from specpreflight.sources.shell.lexer import Lexer, ShellSyntaxError
from specpreflight.sources.shell.syntax import (
    ArithmeticCommand,
    ArithmeticFor,
    Assignment,
    Block,
    Case,
    Chain,
    Condition,
    For,
    Function,
    If,
    Node,
    Pipeline,
    Redirect,
    Simple,
    While,
    Word,
)

__all__ = ["ShellSyntaxError", "parse"]

_ASSIGNMENT = re.compile(r"([A-Za-z_]\w*)(?:\[([^\]]*)\])?(\+?)=")
_FUNCTION_NAME = re.compile(r"[\w.:@+-]+")
_DECLARING = frozenset({"export", "declare", "typeset", "local", "readonly"})
_CLOSING = frozenset({"then", "do", "done", "fi", "elif", "else", "esac", "}"})


def parse(text: str, line: int = 1) -> Iterator[Node]:
    """Yield the commands of a script in order.

    Raises:
        ShellSyntaxError: where bash would refuse to read on; what came before has been yielded.
    """
    parser = _Parser(text, line)
    parser.skip_lines()
    line_of_commands: list[Node] = []
    while not parser.at_end():
        line_of_commands.append(parser.chain())
        ended = parser.terminator()
        if ended or parser.at_end():
            yield from line_of_commands
            line_of_commands = []


class _Parser(Lexer):
    """Recursive descent over the characters of a script."""

    def terminator(self) -> bool:
        """Take `;`, `&` or the end of the line after a command; say whether the line ended."""
        self.skip_blanks()
        if self.peek(2) == ";;" or not (self.at_end() or self.peek() in ";&\n"):
            raise self.error(f"unexpected token near {self.peek(12).splitlines()[0]!r}")
        if self.peek() in ";&":
            self.take(1)
        return self.skip_lines()

    def block(self, *closing: str) -> Block:
        """Read commands up to one of the reserved words (or `)`), which stays unread."""
        commands: list[Node] = []
        self.skip_lines()
        while not self.ahead(*closing):
            if self.at_end():
                raise self.error(f"end of file where {closing[0]!r} is missing")
            commands.append(self.chain())
            self.skip_blanks()
            if self.peek(2) in (";;", ";&") or self.ahead(*closing):
                break
            self.terminator()
        return Block(tuple(commands))

    def chain(self) -> Node:
        """Read pipelines joined by `&&` and `||`."""
        first = self.pipeline()
        rest = []
        while True:
            self.skip_blanks()
            operator = self.peek(2)
            if operator not in ("&&", "||"):
                break
            self.take(2)
            self.skip_lines()
            rest.append((operator, self.pipeline()))
        return Chain(first, tuple(rest)) if rest else first

    def pipeline(self) -> Node:
        """Read commands joined by `|` or `|&`."""
        negated = False
        self.skip_blanks()
        while self.reserved("!") or self.reserved("time"):
            word = self.take_reserved()
            negated ^= word == "!"
            self.skip_blanks()
            if word == "time" and self.reserved("-p"):
                self.take_reserved()
                self.skip_blanks()
        commands = [self.command()]
        self.skip_blanks()
        while self.peek() == "|" and self.peek(2) != "||":
            self.take(2 if self.peek(2) == "|&" else 1)
            self.skip_lines()
            commands.append(self.command())
            self.skip_blanks()
        if len(commands) == 1 and not negated:
            return commands[0]
        return Pipeline(tuple(commands), negated)

    def command(self) -> Node:
        """Read one command, compound or simple."""
        self.skip_blanks()
        if self.peek(2) == "((":
            expression = self.arithmetic_command()
            if expression is not None:
                return ArithmeticCommand(expression)
        if self.peek() == "(":
            self.take(1)
            body = self.block(")")
            self.take(1)
            return Block(body.commands, subshell=True, redirects=self.redirects())
        word = self.peek_reserved()
        if word in ("if", "while", "until", "for", "select", "case", "{", "[[", "function"):
            self.take_reserved()
            return self.compound(word)
        if word in _CLOSING:
            raise self.error(f"unexpected token {word!r}")
        named = _FUNCTION_NAME.match(self.text, self.at)
        if named and re.match(r"[ \t]*\([ \t]*\)", self.text[named.end() : named.end() + 40]):
            self.take(self.text.index(")", named.end()) + 1 - self.at)
            self.skip_lines()
            return Function(named.group(), self.command())
        return self.simple()

    def compound(self, word: str) -> Node:
        """Read what follows the reserved word that opens a compound command."""
        if word == "{":
            body = self.block("}")
            self.expect("}")
            return Block(body.commands, redirects=self.redirects())
        if word == "[[":
            return Condition(tuple(self.condition_tokens()))
        if word == "function":
            self.skip_blanks()
            named = _FUNCTION_NAME.match(self.text, self.at)
            if named is None:
                raise self.error("function without a name")
            self.take(len(named.group()))
            parentheses = re.match(r"[ \t]*\([ \t]*\)", self.text[self.at : self.at + 40])
            self.take(parentheses.end() if parentheses else 0)
            self.skip_lines()
            return Function(named.group(), self.command())
        if word == "if":
            return self.if_command()
        if word == "case":
            return self.case_command()
        if word in ("while", "until"):
            condition = self.block("do")
            body = self.body()
            return While(condition, body, word == "until", self.redirects())
        return self.for_command()

    def body(self) -> Block:
        """Read `do … done`."""
        self.expect("do")
        body = self.block("done")
        self.expect("done")
        return body

    def if_command(self) -> If:
        """Read the rest of an `if`."""
        branches = []
        otherwise = None
        while True:
            condition = self.block("then")
            self.expect("then")
            branches.append((condition, self.block("elif", "else", "fi")))
            if self.take_reserved() != "elif":
                break
        if self.last_reserved == "else":
            otherwise = self.block("fi")
            self.expect("fi")
        return If(tuple(branches), otherwise, self.redirects())

    def case_command(self) -> Case:
        """Read the rest of a `case`."""
        self.skip_blanks()
        word = self.word()
        self.skip_lines()
        self.expect("in")
        clauses = []
        self.skip_lines()
        while not self.ahead("esac"):
            if self.at_end():
                raise self.error("end of file where 'esac' is missing")
            if self.peek() == "(":
                self.take(1)
            patterns = []
            while True:
                self.skip_blanks()
                patterns.append(self.word())
                self.skip_blanks()
                if self.peek() != "|":
                    break
                self.take(1)
            if self.peek() != ")":
                raise self.error("a case pattern without ')'")
            self.take(1)
            body = self.block("esac", ";;", ";&")
            end = re.compile(r";;&|;;|;&|").match(self.text, self.at)
            terminator = end.group() if end else ""
            self.take(len(terminator))
            clauses.append((tuple(patterns), body, terminator or ";;"))
            self.skip_lines()
        self.expect("esac")
        return Case(word, tuple(clauses), self.redirects())

    def for_command(self) -> Node:
        """Read the rest of a `for` (or `select`)."""
        self.skip_blanks()
        if self.peek(2) == "((":
            expression = self.arithmetic_command() or ""
            first, condition, step = ([*expression.split(";"), "", ""])[:3]
            self.skip_blanks()
            if self.peek() == ";":
                self.take(1)
            self.skip_lines()
            body = self.body()
            return ArithmeticFor(first, condition, step, body, self.redirects())
        name = self.word().plain()
        if name is None:
            raise self.error("a loop variable that is no name")
        self.skip_lines()
        words: tuple[Word, ...] | None = None
        if self.reserved("in"):
            self.take_reserved()
            found = []
            self.skip_blanks()
            while self.peek() not in ("", ";", "\n", "&"):
                found.append(self.word())
                self.skip_blanks()
            words = tuple(found)
        self.skip_blanks()
        if self.peek() == ";":
            self.take(1)
        self.skip_lines()
        return For(name, words, self.body(), self.redirects())

    def redirects(self) -> tuple[Redirect, ...]:
        """Read the redirections that follow a compound command."""
        found = []
        while (redirect := self.redirect()) is not None:
            found.append(redirect)
        return tuple(found)

    def simple(self) -> Simple:
        """Read assignments, words and redirections up to an operator or the end of the line."""
        line = self.line
        assignments: list[Assignment] = []
        words: list[Word | Assignment] = []
        redirects: list[Redirect] = []
        while True:
            self.skip_blanks()
            if self.ends_command():
                break
            redirect = self.redirect()
            if redirect is not None:
                redirects.append(redirect)
                continue
            declaring = bool(words) and _is_declaring(words[0])
            if not words or declaring:
                assignment = self.assignment()
                if assignment is not None:
                    if words:
                        words.append(assignment)
                    else:
                        assignments.append(assignment)
                    continue
            words.append(self.word())
        if not (assignments or words or redirects):
            raise self.error(f"unexpected token near {self.peek(12)!r}")
        return Simple(tuple(assignments), tuple(words), tuple(redirects), line)

    def assignment(self) -> Assignment | None:
        """Read an assignment if one stands here."""
        match = _ASSIGNMENT.match(self.text, self.at)
        if match is None:
            return None
        line = self.line
        name, index, plus = match.groups()
        self.take(match.end() - self.at)
        value: Word | tuple[Word, ...]
        if self.peek() == "(":
            self.take(1)
            value = tuple(self.array_elements())
        elif self.ends_word():
            value = Word((), line)
        else:
            value = self.word()
        return Assignment(name, value, bool(plus), index, line)

    def array_elements(self) -> Iterator[Word]:
        """Yield the words of `( … )`, over lines and comments."""
        while True:
            self.skip_lines()
            if self.at_end():
                raise self.error("end of file where ')' of an array is missing")
            if self.peek() == ")":
                self.take(1)
                return
            yield self.word()


def _is_declaring(word: Word | Assignment) -> bool:
    return isinstance(word, Word) and word.plain() in _DECLARING
