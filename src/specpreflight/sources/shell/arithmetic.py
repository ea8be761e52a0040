"""Shell arithmetic (bash manual 6.5) on what is known."""

from __future__ import annotations

import re
from collections.abc import Callable

_TOKEN = re.compile(
    r"\s*(?:(0[xX][0-9a-fA-F]+|\d+)|([A-Za-z_]\w*(?:\[[^\]]*\])?)"
    r"|(\*\*|\+\+|--|<<=|>>=|<<|>>|<=|>=|==|!=|&&|\|\||[-+*/%&|^]=|[-+*/%<>=!~&|^?:(),]))"
)
_BINARY: tuple[dict[str, Callable[[int, int], int]], ...] = (
    {"||": lambda a, b: int(bool(a or b))},
    {"&&": lambda a, b: int(bool(a and b))},
    {"|": lambda a, b: a | b},
    {"^": lambda a, b: a ^ b},
    {"&": lambda a, b: a & b},
    {"==": lambda a, b: int(a == b), "!=": lambda a, b: int(a != b)},
    {
        "<": lambda a, b: int(a < b),
        ">": lambda a, b: int(a > b),
        "<=": lambda a, b: int(a <= b),
        ">=": lambda a, b: int(a >= b),
    },
    {"<<": lambda a, b: a << (b & 63), ">>": lambda a, b: a >> (b & 63)},
    {"+": lambda a, b: a + b, "-": lambda a, b: a - b},
    {"*": lambda a, b: a * b, "/": lambda a, b: _divide(a, b), "%": lambda a, b: _modulo(a, b)},
)
_ASSIGNING = frozenset({"=", "+=", "-=", "*=", "/=", "%=", "&=", "|=", "^=", "<<=", ">>="})


class UnknownValueError(Exception):
    """The result depends on something that is not known (or is no arithmetic at all)."""


def evaluate(
    expression: str, read: Callable[[str], str | None], write: Callable[[str, str], None]
) -> int:
    """Return the value of an expression whose `$` expansions are done.

    `read` returns the text of a variable, `None` where it is unknown.

    Raises:
        UnknownValueError: an operand is not known, or the text is no expression.
    """
    tokens = []
    at = 0
    while expression[at:].strip():
        match = _TOKEN.match(expression, at)
        if match is None:
            raise UnknownValueError(expression)
        tokens.append(match.group().strip())
        at = match.end()
    return _Evaluation(tokens, read, write).whole() if tokens else 0


class _Evaluation:
    def __init__(
        self,
        tokens: list[str],
        read: Callable[[str], str | None],
        write: Callable[[str, str], None],
    ) -> None:
        self._tokens = tokens
        self._read = read
        self._write = write

    def whole(self) -> int:
        value = self._ternary()
        while self._accept(","):
            value = self._ternary()
        if self._tokens:
            raise UnknownValueError(self._tokens[0])
        return value

    def _accept(self, *wanted: str) -> str | None:
        return self._tokens.pop(0) if self._tokens and self._tokens[0] in wanted else None

    def _ternary(self) -> int:
        condition = self._binary(0)
        if not self._accept("?"):
            return condition
        first = self._ternary()
        if not self._accept(":"):
            raise UnknownValueError("?")
        second = self._ternary()
        return first if condition else second

    def _binary(self, level: int) -> int:
        if level == len(_BINARY):
            return self._power()
        value = self._binary(level + 1)
        while operator := self._accept(*_BINARY[level]):
            value = _wrapped(_BINARY[level][operator](value, self._binary(level + 1)))
        return value

    def _power(self) -> int:
        base = self._unary()
        if not self._accept("**"):
            return base
        exponent = self._power()
        if exponent < 0 or exponent > 4096:
            raise UnknownValueError("**")
        return _wrapped(base**exponent)

    def _unary(self) -> int:
        if operator := self._accept("!", "~", "-", "+", "++", "--"):
            if operator in ("++", "--"):
                name = self._tokens.pop(0) if self._tokens else ""
                return self._store(name, self._value(name) + (1 if operator == "++" else -1))
            value = self._unary()
            return {"!": int(not value), "~": ~value, "-": -value, "+": value}[operator]
        return self._operand()

    def _operand(self) -> int:
        if self._accept("("):
            value = self._ternary()
            if not self._accept(")"):
                raise UnknownValueError("(")
            return value
        token = self._tokens.pop(0) if self._tokens else ""
        if token[:1].isdigit():
            return int(token, 16 if token[:2] in ("0x", "0X") else 8 if token[0] == "0" else 10)
        if not (token[:1].isalpha() or token[:1] == "_"):
            raise UnknownValueError(token)
        if operator := self._accept(*_ASSIGNING):
            value = self._ternary()
            if operator != "=":
                levels = {name: do for level in _BINARY for name, do in level.items()}
                value = levels[operator[:-1]](self._value(token), value)
            return self._store(token, value)
        value = self._value(token)
        if operator := self._accept("++", "--"):
            self._store(token, value + (1 if operator == "++" else -1))
        return value

    def _value(self, name: str) -> int:
        text = self._read(name)
        if text is None:
            raise UnknownValueError(name)
        text = text.strip() or "0"
        if re.fullmatch(r"[-+]?\d+", text):
            return int(text)
        if re.fullmatch(r"[A-Za-z_]\w*", text) and text != name:
            return self._value(text)
        return evaluate(text, self._read, self._write)

    def _store(self, name: str, value: int) -> int:
        self._write(name, str(value))
        return value


def _wrapped(value: int) -> int:
    """Return a number as 64 bits hold it."""
    return (value + 2**63) % 2**64 - 2**63


def _divide(first: int, second: int) -> int:
    if second == 0:
        raise UnknownValueError("division by 0")
    quotient = abs(first) // abs(second)
    return quotient if (first < 0) == (second < 0) else -quotient


def _modulo(first: int, second: int) -> int:
    return first - second * _divide(first, second)
