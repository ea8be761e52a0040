"""NCCL_DEBUG and its kin, and the boolean parameters of 2.30.

Up to 2.30.4 `src/debug.cc:ncclDebugInit` compares words by hand; from 2.30.7 the typed parameters
of `src/include/param/` read them (`parser_enum.h`, `parser_bitset.h`, `parser_default.h`), which
trim blanks and drop a whole list for one unknown word. 2.32.3 adds the level ATTN and
NCCL_DEBUG_LEVELS (seen in the shipped library, through its parameter interface).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from specpreflight.engines.nccl.c_text import same_word, strtok, strtoll, trim
from specpreflight.models.nccl import Effect, Release, Understood

TYPED: Final = Release(2, 30, 7)
_ATTN: Final = Release(2, 32, 0)

_LEVELS: Final = ("VERSION", "WARN", "INFO", "ABORT", "TRACE")
_LEVELS_WITH_ATTN: Final = ("VERSION", "WARN", "ATTN", "INFO", "ABORT", "TRACE")
_SUBSYSTEMS_SINCE: Final = (
    (Release(2, 4, 6), ("INIT", "COLL", "P2P", "SHM", "NET")),
    (Release(2, 5, 6), ("GRAPH", "TUNING")),
    (Release(2, 7, 3), ("ENV",)),
    (Release(2, 9, 9), ("ALLOC",)),
    (Release(2, 13, 4), ("CALL",)),
    (Release(2, 18, 1), ("PROXY",)),
    (Release(2, 17, 1), ("NVLS",)),
    (Release(2, 21, 5), ("BOOTSTRAP", "REG")),
    (Release(2, 22, 3), ("PROFILE",)),
    (Release(2, 24, 3), ("RAS",)),
    (Release(2, 30, 3), ("DESTROY",)),
    (Release(2, 30, 7), ("ALLOC_HOST",)),
)
_DEFAULT_SUBSYSTEMS: Final = "INIT,ENV,BOOTSTRAP"

#: Typed booleans, by the release that made them so; before it the name is a number or unknown.
_BOOLEANS_SINCE: Final = {
    "NCCL_PARAM_DUMP_ALL": Release(2, 30, 3),
    "NCCL_SET_THREAD_NAME": TYPED,
    "NCCL_WARN_ENABLE_DEBUG_INFO": TYPED,
}
_TIMESTAMPS_SINCE: Final = Release(2, 26, 2)
_TIMESTAMP_BUFFER: Final = 256
_UNDERSCORE_IS_BLANK: Final = Release(2, 26, 3)
_WARN_IS_A_NUMBER: Final = (Release(2, 22, 3), Release(2, 30, 4))
_NO_CACHE_SINCE: Final = Release(2, 29, 7)
_NO_CACHE_TRIMS: Final = Release(2, 30, 3)


def subsystems(release: Release) -> tuple[str, ...]:
    """Return the words of NCCL_DEBUG_SUBSYS at a release, in the order of their bits."""
    return tuple(word for since, words in _SUBSYSTEMS_SINCE for word in words if release >= since)


def debug_levels(release: Release) -> tuple[str, ...]:
    """Return the words of NCCL_DEBUG at a release, quietest first."""
    return _LEVELS_WITH_ATTN if release >= _ATTN else _LEVELS


def understand_typed(name: str, text: str, release: Release) -> Understood | None:
    """Return what a debug or typed parameter means, `None` if `name` is not one at `release`."""
    since = _BOOLEANS_SINCE.get(name)
    if since is not None and release >= since:
        return _boolean(name, text)
    if name == "NCCL_DEBUG":
        return _level(text, release)
    if name == "NCCL_DEBUG_SUBSYS":
        return _word_set(text, subsystems(release), release, _DEFAULT_SUBSYSTEMS)
    if name == "NCCL_DEBUG_TIMESTAMP_LEVELS" and release >= _TIMESTAMPS_SINCE:
        default = "WARN,ATTN" if release >= _ATTN else "WARN"
        return _word_set(text, debug_levels(release), release, default)
    if name == "NCCL_DEBUG_LEVELS" and release >= _ATTN:
        return _typed(_enabled(text, debug_levels(release), trimmed=True), "used")
    if name == "NCCL_WARN_ENABLE_DEBUG_INFO":
        first, last = _WARN_IS_A_NUMBER
        return _warn_number(text) if first <= release <= last else None
    if name == "NCCL_DEBUG_FILE":
        return _typed(text, "used")
    if name == "NCCL_DEBUG_TIMESTAMP_FORMAT" and release >= _TIMESTAMPS_SINCE:
        return _typed(_timestamp_format(text, release), "used")
    if name == "NCCL_NO_CACHE" and release >= _NO_CACHE_SINCE:
        return _no_cache(text, release)
    return None


def _typed(text: str, effect: Effect) -> Understood:
    return Understood("typed", text, effect)


def _level(text: str, release: Release) -> Understood:
    wanted = trim(text) if release >= TYPED else text
    for level in debug_levels(release):
        if same_word(wanted, level):
            return _typed(level, "used")
    return _typed("NONE" if release >= TYPED else "unset(-1)", "default")


def _word_set(text: str, words: Sequence[str], release: Release, default: str) -> Understood:
    if release >= TYPED:
        items = [trim(item) for item in text.removeprefix("^").split(",")]
        for item in items:
            if item and not any(same_word(item, word) for word in (*words, "ALL")):
                return _typed(default, "default")
        return _typed(_enabled(text, words, trimmed=True), "used")
    return _typed(_enabled(text, words, trimmed=False), "used")


def _enabled(text: str, words: Sequence[str], *, trimmed: bool) -> str:
    inverted = text.startswith("^")
    items = strtok(text[1:] if inverted else text, ",")
    if trimmed:
        items = [trim(item) for item in items]
    named = {
        word for word in words if any(same_word(i, word) or same_word(i, "ALL") for i in items)
    }
    return ",".join(word for word in words if (word in named) != inverted) or "none"


def _boolean(name: str, text: str) -> Understood:
    shown = ("1", "0") if name == "NCCL_WARN_ENABLE_DEBUG_INFO" else ("TRUE", "FALSE")
    if text == "1" or same_word(text, "T") or same_word(text, "TRUE"):
        return _typed(shown[0], "used")
    if text == "0" or same_word(text, "F") or same_word(text, "FALSE"):
        return _typed(shown[1], "used")
    return _typed(shown[1], "default")


def _warn_number(text: str) -> Understood:
    number = strtoll(text)
    if not text or number.overflow:
        return _typed("0", "default")
    return Understood("typed", str(int(number.value != 0)), "used", "", number.value, number.rest)


def _timestamp_format(text: str, release: Release) -> str:
    """Put blanks for the first `%3f` (sub-seconds) and, from 2.26.3 on, for underscores.

    Blanks that don't fit leave the text as it is; a text that doesn't fit is the default.
    """
    pieces = re.split(r"(%%|%[1-9]f)", text)
    place = next((at for at in range(1, len(pieces), 2) if pieces[at] != "%%"), None)
    if place is not None:
        pieces[place] = " " * int(pieces[place][1])
    blanked = "".join(pieces)
    shown = next((each for each in (blanked, text) if _fits(each)), "[%F %T] ")
    return shown.replace("_", " ") if release >= _UNDERSCORE_IS_BLANK else shown


def _fits(text: str) -> bool:
    return len(text.encode("utf-8", "surrogateescape")) < _TIMESTAMP_BUFFER


def _no_cache(text: str, release: Release) -> Understood:
    """Name what is read afresh each time; the others keep their first value for the process."""
    items = strtok(text, ",")
    if release >= _NO_CACHE_TRIMS:
        items = [trim(item) for item in items]
    cached = "cached" if not {"ALL", "NCCL_BUFFSIZE"} & set(items) else "not cached"
    return _typed(f"NCCL_BUFFSIZE {cached}", "used" if text else "default")
