"""What is never printed: the values of tokens, keys and passwords."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import cache
from typing import Any, Final

REDACTED = "<redacted>"

_SECRET_WORDS = frozenset(
    {"key", "secret", "password", "passwd", "passphrase", "credential", "credentials", "apikey"}
)

#: Text that only refers to a secret: `${HF_TOKEN}`, `$(cat token)`, `<token>`.
_REFERENCE: Final = r"\$[{(A-Za-z_].*|<[^<>]*>|"

#: What gives a secret away wherever it stands: a password in a URL, the parameters of a signed
#: one, and the forms of keys that services hand out.
_SHAPES: Final = (
    r"(?<=://)[^/\s:@]*:[^/\s@]+(?=@)",
    r"(?<=https://)[^/\s:@]+(?=@)",
    r"(?<=http://)[^/\s:@]+(?=@)",
    r"(?i)(?P<kept>[?&;][\w.-]*(?:token|key|secret|passw(?:or)?d|sig|signature|credential|auth)"
    r"[\w.-]*=)[^&;\s#\"']+",
    r"(?i)(?P<kept>\bbearer\s+)[\w.~+/=-]{8,}",
    r"\b(?:hf_|sk-|sk_|gh[opsu]_|github_pat_|glpat-|xox[abprs]-|nvapi-)[\w-]{8,}",
    r"\bAKIA[0-9A-Z]{16}\b",
    r"\beyJ[\w-]{8,}\.[\w-]{8,}\.[\w-]*",
)
#: A secret of fewer characters, or a short number, is left out under its own name only.
_SHORTEST: Final = 4
#: From here on a secret is looked for inside of words too.
_LONG: Final = 8


def is_secret(name: str) -> bool:
    """Return whether a flag or variable is called like a secret.

    `token` counts at the end of a name only: `--speculative-token-map` is a path.
    """
    words = name.lower().replace("-", "_").split("_")
    return words[-1] == "token" or not _SECRET_WORDS.isdisjoint(words)


def redact(name: str, value: Any) -> Any:
    """Return the value, or `<redacted>` where the name says that it is a secret."""
    if isinstance(value, list) and is_secret(name):
        return [redact(name, item) for item in value]
    if isinstance(value, str) and is_secret(name) and not re.fullmatch(_REFERENCE, value):
        return REDACTED
    return value


def redact_words(words: Sequence[str]) -> list[str]:
    """Return a command line's words with the values of secret flags left out."""
    shown = []
    for word, (name, value) in zip(words, name_words(words), strict=True):
        if word.startswith("--") and "=" in word:
            shown.append(f"{name}={redact(name, value)}")
        else:
            shown.append(word if word.startswith("-") else redact(name, value))
    return shown


def name_words(words: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Yield `(flag, value)` for each word: of `--flag=value` both, else the flag before it."""
    flag = ""
    for word in words:
        name, equals, value = word.partition("=")
        if word.startswith("--") and equals:
            flag = ""
            yield name, value
        else:
            flag = word if word.startswith("--") else "" if word.startswith("-") else flag
            yield flag, word


def secret_texts(named: Iterable[tuple[str, Any]]) -> tuple[str, ...]:
    """Return the secrets among named values that can be looked for elsewhere, the longest first."""
    found: set[str] = set()
    for name, value in named:
        for text in value if isinstance(value, list) else [value]:
            if isinstance(text, str):
                found.update(_secrets_in(name, text))
    fit = {text for text in found if len(text) >= (_LONG if text.isdecimal() else _SHORTEST)}
    return tuple(sorted(fit, key=lambda text: (-len(text), text)))


def scrub(data: Any, secrets: Iterable[str] = ()) -> Any:
    """Return JSON data without `secrets` and without what is shaped like one, in any text of it.

    Bytes of a variable that are no UTF-8 are escaped.
    """
    if isinstance(data, str):
        data = data.encode("utf-8", "backslashreplace").decode()
        for secret in secrets:
            if len(secret) >= _LONG:
                data = data.replace(secret, REDACTED)
            elif secret in data:
                data = re.sub(rf"(?<!\w){re.escape(secret)}(?!\w)", REDACTED, data)
        for shape in _shapes():
            kept = r"\g<kept>" if shape.groups else ""
            data = shape.sub(kept + REDACTED, data)
        return data
    if isinstance(data, Mapping):
        return {scrub(key, secrets): scrub(value, secrets) for key, value in data.items()}
    if isinstance(data, list | tuple):
        return [scrub(item, secrets) for item in data]
    return data


def named_values(data: Any, name: str = "") -> Iterator[tuple[str, Any]]:
    """Yield each value of nested JSON data with the key that it stands under."""
    if isinstance(data, Mapping):
        for key, value in data.items():
            yield from named_values(value, str(key))
    elif isinstance(data, list | tuple):
        for value in data:
            yield from named_values(value, name)
    else:
        yield name, data


@cache
def _shapes() -> tuple[re.Pattern[str], ...]:
    """Return `_SHAPES`, compiled when a text is first looked through: a check does not."""
    return tuple(map(re.compile, _SHAPES))


def _secrets_in(name: str, text: str) -> Iterator[str]:
    """Yield what is secret in one value: all of it, what its JSON names, a password of its URL."""
    if redact(name, text) == REDACTED:
        yield text
    if text.lstrip().startswith("{"):
        with suppress(ValueError, RecursionError):
            for key, value in named_values(json.loads(text)):
                if isinstance(value, str) and redact(key, value) == REDACTED:
                    yield value
    for shape in _shapes():
        for match in shape.finditer(text):
            yield match[0].rpartition("=" if shape.groups else ":")[2]
