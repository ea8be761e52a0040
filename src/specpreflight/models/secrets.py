"""What is never printed: the values of tokens, keys and passwords."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

REDACTED = "<redacted>"

_SECRET_WORDS = frozenset({"key", "token", "secret", "password", "credential", "credentials"})

#: Text that only refers to a secret: `${HF_TOKEN}`, `$(cat token)`, `<token>`.
_REFERENCE = re.compile(r"\$[{(A-Za-z_].*|<[^<>]*>|")


def is_secret(name: str) -> bool:
    """Return whether a flag or variable is called like a secret."""
    return not _SECRET_WORDS.isdisjoint(name.lower().replace("-", "_").split("_"))


def redact(name: str, value: Any) -> Any:
    """Return the value, or `<redacted>` where the name says that it is a secret."""
    if isinstance(value, str) and is_secret(name) and not _REFERENCE.fullmatch(value):
        return REDACTED
    return value


def redact_words(words: Sequence[str]) -> list[str]:
    """Return a command line's words with the values of secret flags left out."""
    shown: list[str] = []
    flag = ""
    for word in words:
        name, equals, value = word.partition("=")
        if word.startswith("--") and equals:
            shown.append(f"{name}={redact(name, value)}")
        else:
            shown.append(word if word.startswith("-") else redact(flag, word))
        flag = name if word.startswith("--") and not equals else ""
    return shown
