"""The known failure shapes that an unknown error comes nearest to, by the words they share."""

from __future__ import annotations

import re
from functools import cache
from typing import Final

from specpreflight.engines.logs.causes import CAUSES

_WORD: Final = re.compile(r"[A-Za-z_]{4,}")
_GROUP: Final = re.compile(r"\(\?P<\w+>|\\[a-zA-Z]")
#: Words of nearly every message.
_COMMON: Final = frozenset(
    {"error", "with", "model", "that", "this", "from", "have", "only", "valueerror", "runtimeerror"}
)


def nearest(message: str, most: int = 3) -> tuple[str, ...]:
    """Return the ids of the shapes that share most of their words with `message`."""
    words = _words(message)
    scores: dict[str, float] = {}
    for name, known in _shapes():
        shared = words & known
        if len(shared) >= 2:
            scores[name] = max(scores.get(name, 0.0), len(shared) ** 2 / len(known))
    ranked = sorted(scores, key=lambda name: -scores[name])
    return tuple(ranked[:most])


@cache
def _shapes() -> tuple[tuple[str, frozenset[str]], ...]:
    return tuple((cause.name, _words(_GROUP.sub(" ", cause.message.pattern))) for cause in CAUSES)


def _words(text: str) -> frozenset[str]:
    return frozenset(word.lower() for word in _WORD.findall(text)) - _COMMON
