"""The known failure shapes that an unknown error comes nearest to, by the words they share."""

from __future__ import annotations

import re
from collections import Counter
from functools import cache
from math import log, sqrt
from typing import Final

from specpreflight.engines.logs.causes import CAUSES

_WORD: Final = re.compile(r"[A-Za-z_]{4,}")
_GROUP: Final = re.compile(r"\(\?P<\w+>|\\[a-zA-Z]")
#: Endings of exceptions' names, which say little alone.
_PLAIN: Final = frozenset({"error", "valueerror", "runtimeerror", "exception"})


def nearest(message: str, most: int = 3) -> tuple[str, ...]:
    """Return the ids of the shapes that share the most, and the rarest, words with `message`."""
    words = _words(message)
    scores: dict[str, float] = {}
    rarity = _rarity()
    for name, known in _shapes():
        shared = words & known
        score = sum(rarity[word] for word in shared) / sqrt(len(known) or 1)
        if score:
            scores[name] = max(scores.get(name, 0.0), score)
    return tuple(sorted(scores, key=lambda name: -scores[name])[:most])


@cache
def _shapes() -> tuple[tuple[str, frozenset[str]], ...]:
    return tuple((cause.name, _words(_GROUP.sub(" ", cause.message.pattern))) for cause in CAUSES)


@cache
def _rarity() -> dict[str, float]:
    counts = Counter(word for _, words in _shapes() for word in words)
    return {word: log(len(_shapes()) / count) for word, count in counts.items()}


def _words(text: str) -> frozenset[str]:
    return frozenset(word.lower() for word in _WORD.findall(text)) - _PLAIN
