"""`[ … ]`, `test` and `[[ … ]]`, on what is known of the launch.

Files are not looked at: the script may be meant for another machine. What cannot be known is
decided by `Expansion.assume_set`, and `Expansion.guessed` says that it was.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from specpreflight.sources.shell.expansion import Expansion
from specpreflight.sources.shell.syntax import Word
from specpreflight.sources.shell.variables import reveal

_UNARY = frozenset("-" + letter for letter in "abcdefghknoprstuvwxzGLNORS")
_NUMERIC: dict[str, Callable[[int, int], bool]] = {
    "-eq": lambda a, b: a == b,
    "-ne": lambda a, b: a != b,
    "-lt": lambda a, b: a < b,
    "-le": lambda a, b: a <= b,
    "-gt": lambda a, b: a > b,
    "-ge": lambda a, b: a >= b,
}
_BINARY = frozenset({*_NUMERIC, "=", "==", "!=", "<", ">", "=~", "-ef", "-nt", "-ot"})


def holds(
    tokens: Sequence[Word | str], expansion: Expansion, has_file: Callable[[str], bool]
) -> bool:
    """Return the value of a condition's tokens: words, and operators as plain strings.

    `has_file` says whether the script itself has written a file. Words of `[` are passed as
    strings after their expansion; in them, and nowhere else, `-a` and `-o` join conditions.
    """
    return _Condition(list(tokens), expansion, has_file).whole()


class _Condition:
    def __init__(
        self,
        tokens: list[Word | str],
        expansion: Expansion,
        has_file: Callable[[str], bool],
    ) -> None:
        self._tokens = tokens
        self._expansion = expansion
        self._has_file = has_file

    def whole(self) -> bool:
        if not self._tokens:
            return False
        return self._any()

    def _next(self, ahead: int = 0) -> str | None:
        if ahead >= len(self._tokens):
            return None
        token = self._tokens[ahead]
        return token if isinstance(token, str) else token.plain()

    def _any(self) -> bool:
        value = self._all()
        while self._next() in ("||", "-o"):
            self._tokens.pop(0)
            other = self._all()
            value = value or other
        return value

    def _all(self) -> bool:
        value = self._not()
        while self._next() in ("&&", "-a"):
            self._tokens.pop(0)
            other = self._not()
            value = value and other
        return value

    def _not(self) -> bool:
        if self._next() == "!" and len(self._tokens) > 1:
            self._tokens.pop(0)
            return not self._not()
        if self._next() == "(" and self._next(1) not in _BINARY:
            self._tokens.pop(0)
            value = self._any()
            if self._next() == ")":
                self._tokens.pop(0)
            return value
        return self._primary()

    def _primary(self) -> bool:
        if len(self._tokens) >= 3 and self._next(1) in _BINARY:
            left, operator, right = self._tokens[0], self._next(1), self._tokens[2]
            del self._tokens[:3]
            return self._compare(left, operator or "", right)
        if len(self._tokens) >= 2 and self._next() in _UNARY:
            operator = self._next() or ""
            operand = self._text(self._tokens[1])
            del self._tokens[:2]
            return self._test(operator, operand)
        return self._text(self._tokens.pop(0)) != ""

    def _text(self, token: Word | str) -> str:
        text = reveal(token if isinstance(token, str) else self._expansion.text(token))
        return text

    def _compare(self, left: Word | str, operator: str, right: Word | str) -> bool:
        first, second = self._text(left), self._text(right)
        self._expansion.guess_from(first, second)
        if operator in _NUMERIC:
            numbers = [re.fullmatch(r"\s*([-+]?\d+)\s*", text) for text in (first, second)]
            if numbers[0] is None or numbers[1] is None:
                self._expansion.guessed = True
                return self._expansion.assume_set
            return _NUMERIC[operator](int(numbers[0].group(1)), int(numbers[1].group(1)))
        if operator == "=~":
            pattern = re.escape(second) if isinstance(right, str) else self._expansion.regex(right)
            return self._matches(_posix(pattern), first)
        if operator in ("=", "==", "!="):
            pattern = (
                re.escape(second) if isinstance(right, str) else (self._expansion.pattern(right))
            )
            same = re.fullmatch(pattern, first, re.DOTALL) is not None
            return same == (operator != "!=")
        if operator in ("<", ">"):
            return first < second if operator == "<" else first > second
        self._expansion.guessed = True
        return self._expansion.assume_set

    def _matches(self, pattern: str, text: str) -> bool:
        try:
            match = re.search(pattern, text)
        except re.error:
            self._expansion.guessed = True
            return self._expansion.assume_set
        if match:
            groups = [match.group(), *(group or "" for group in match.groups())]
            elements = {str(at): group for at, group in enumerate(groups)}
            self._expansion.variables.assign("BASH_REMATCH", elements)
        return match is not None

    def _test(self, operator: str, operand: str) -> bool:
        if operator == "-n":
            return operand != ""
        if operator == "-z":
            return operand == ""
        if operator == "-v":
            return self._expansion.parameter_text(operand) is not None
        if operator in ("-a", "-e", "-f", "-r", "-s", "-x") and self._has_file(operand):
            return True
        self._expansion.guessed = True
        return self._expansion.assume_set


def _posix(pattern: str) -> str:
    classes = {"digit": "0-9", "alpha": "a-zA-Z", "alnum": "a-zA-Z0-9", "space": r"\s"}
    return re.sub(r"\[:(\w+):\]", lambda name: classes.get(name.group(1), name.group(1)), pattern)
