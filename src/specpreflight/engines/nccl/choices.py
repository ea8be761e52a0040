"""NCCL_ALGO and NCCL_PROTO: which algorithms and protocols each collective may use.

Restates `src/graph/tuning.cc`: `parseList` (one list for all collectives up to 2.23, entries per
collective and errors from 2.24 on) and the block of `ncclTopoTuneModel` behind it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal

from specpreflight.engines.nccl.c_text import same_word, strtok
from specpreflight.models.nccl import Release, Understood

COLLECTIVES: Final = ("Broadcast", "Reduce", "AllGather", "ReduceScatter", "AllReduce")
PROTOCOLS: Final = ("LL", "LL128", "Simple")
#: The first release with lists per collective, and with errors instead of silence.
STRICT: Final = Release(2, 24, 3)

_ALGORITHMS_SINCE: Final[tuple[tuple[Release, tuple[str, ...]], ...]] = (
    (Release(2, 5, 6), ("Tree", "Ring")),
    (Release(2, 6, 4), ("Tree", "Ring", "CollNet")),
    (Release(2, 14, 3), ("Tree", "Ring", "CollNetDirect", "CollNetChain")),
    (Release(2, 17, 1), ("Tree", "Ring", "CollNetDirect", "CollNetChain", "NVLS")),
    (Release(2, 18, 1), ("Tree", "Ring", "CollNetDirect", "CollNetChain", "NVLS", "NVLSTree")),
    (
        Release(2, 23, 4),
        ("Tree", "Ring", "CollNetDirect", "CollNetChain", "NVLS", "NVLSTree", "PAT"),
    ),
)

_NULL_LIST: Final = "crash: signal 11 (load of null pointer of type 'char')"


def algorithms(release: Release) -> tuple[str, ...]:
    """Return the words that NCCL_ALGO knows at a release."""
    known = _ALGORITHMS_SINCE[0][1]
    for since, words in _ALGORITHMS_SINCE:
        if release >= since:
            known = words
    return known


@dataclass(frozen=True, slots=True)
class Choice:
    """Collective → enabled words; or what NCCL says when it refuses the text."""

    sets: Mapping[str, tuple[str, ...]]
    error: str = ""
    message: str = ""


def parse_algorithms(text: str | None, release: Release) -> Choice:
    """Parse NCCL_ALGO; `None` is unset."""
    words = algorithms(release)
    return _parse(text, words, words, release)


def parse_protocols(text: str | None, release: Release) -> Choice:
    """Parse NCCL_PROTO; unset leaves LL128 to NCCL's judgement, written `LL128?`."""
    return _parse(text, PROTOCOLS, ("LL", "LL128?", "Simple"), release)


def _parse(
    text: str | None, words: Sequence[str], untouched: Sequence[str], release: Release
) -> Choice:
    if text is None:
        return Choice(dict.fromkeys(COLLECTIVES, tuple(untouched)))
    if release < STRICT:
        return Choice(dict.fromkeys(COLLECTIVES, _parse_lenient(text, words)))
    return _parse_strict(text, words, untouched)


def _parse_lenient(text: str, words: Sequence[str]) -> tuple[str, ...]:
    inverted = text.startswith("^")
    named = strtok(text[1:] if inverted else text, ",")
    return tuple(word for word in words if any(same_word(item, word) for item in named) != inverted)


def _parse_strict(text: str, words: Sequence[str], untouched: Sequence[str]) -> Choice:
    sets = dict.fromkeys(COLLECTIVES, tuple(untouched))
    for index, entry in enumerate(strtok(text, ";")):
        pieces = strtok(entry, ":")
        if len(pieces) < 2:
            if index > 0 or text.startswith(";"):
                message = f'All entries except the first must have a prefix: "{text}"'
                return Choice(sets, "All entries except the first must have a prefix", message)
            if not pieces:
                return Choice(sets, _NULL_LIST, "")
        prefix, items = (None, pieces[0]) if len(pieces) < 2 else (pieces[0], pieces[1])
        inverted = items.startswith("^")
        named = strtok(items[1:] if inverted else items, ",")
        meant = [one for one in COLLECTIVES if prefix is None or same_word(prefix, one)]
        if not meant:
            message = f'Unrecognized prefix token "{prefix}" when parsing "{text}"'
            return Choice(sets, "Unrecognized prefix token", message)
        for item in named:
            if not any(same_word(item, word) for word in words):
                message = f'Unrecognized element token "{item}" when parsing "{text}"'
                return Choice(sets, "Unrecognized element token", message)
        enabled = tuple(
            word for word in words if any(same_word(item, word) for item in named) != inverted
        )
        sets.update(dict.fromkeys(meant, enabled))
    return Choice(sets)


def restrict_to_machine(choice: Choice, nodes: int, release: Release) -> Choice:
    """Switch off what a machine without CollNet cannot do, as the block after the parsers does.

    Up to 2.23 a list that leaves none of Tree, Ring, NVLS and NVLSTree is replaced by Tree and
    Ring; later nothing is given back, and the first collective fails.
    """
    if choice.error:
        return choice
    impossible = {"CollNet", "CollNetDirect", "CollNetChain", "NVLSTree" if nodes == 1 else "NVLS"}
    sets = {
        collective: tuple(word for word in enabled if word not in impossible)
        for collective, enabled in choice.sets.items()
    }
    if release < STRICT:
        basic = {"Tree", "Ring", "NVLS", "NVLSTree"}
        words = algorithms(release)
        sets = {
            collective: enabled
            if basic & set(enabled)
            else tuple(word for word in words if word in ("Tree", "Ring") or word in enabled)
            for collective, enabled in sets.items()
        }
    return Choice(sets)


def describe(sets: Mapping[str, tuple[str, ...]]) -> str:
    """Write the sets in the canonical spelling: `all:Ring`, or one part per collective."""
    texts = {collective: ",".join(enabled) or "none" for collective, enabled in sets.items()}
    if len(set(texts.values())) == 1:
        return f"all:{texts[COLLECTIVES[0]]}"
    return "|".join(f"{collective}:{text}" for collective, text in texts.items())


def understand_choice(kind: Literal["algo", "proto"], text: str, release: Release) -> Understood:
    """Return what NCCL_ALGO or NCCL_PROTO means at a release."""
    choice = (parse_algorithms if kind == "algo" else parse_protocols)(text, release)
    if choice.error:
        fatal = choice.error if choice.error == _NULL_LIST else f"fatal: {choice.error}"
        message = f"WARN: {choice.message}" if choice.message else ""
        return Understood(kind, fatal, "fatal", message, sets=choice.sets)
    untouched = release >= STRICT and not strtok(text, ";")
    effect: Literal["default", "used"] = "default" if untouched else "used"
    return Understood(kind, describe(choice.sets), effect, sets=choice.sets)
