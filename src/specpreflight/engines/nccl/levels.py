"""NCCL_P2P_LEVEL, NCCL_NET_GDR_LEVEL and NCCL_P2P_DISABLE: how far apart GPUs may be.

Restates `src/graph/paths.cc:ncclGetLevel` and the path names of `src/graph/topo.cc`: a name must
match exactly, in upper case; a leading digit is the numbering of before 2.4; anything else is
dropped without a message.
"""

from __future__ import annotations

from typing import Final

from specpreflight.engines.nccl.c_text import strtoll, to_int32
from specpreflight.models.nccl import Release, Understood

_NAMES_SINCE: Final[tuple[tuple[Release, tuple[str, ...]], ...]] = (
    (Release(2, 6, 4), ("LOC", "NVL", "NVB", "PIX", "PXB", "PXN", "PHB", "SYS")),
    (Release(2, 26, 2), ("LOC", "NVL", "NVB", "C2C", "PIX", "PXB", "PXN", "PHB", "SYS")),
    (Release(2, 27, 3), ("LOC", "NVL", "NVB", "C2C", "PIX", "PXB", "PXN", "P2C", "PHB", "SYS")),
    (Release(2, 27, 5), ("LOC", "NVL", "NVB", "C2C", "PIX", "PXB", "P2C", "PXN", "PHB", "SYS")),
)
#: Levels by their number of before 2.4; a larger number counts as the last.
_OLD_NUMBERS: Final = ("LOC", "PIX", "PXB", "PHB", "SYS", "SYS")
_MESSAGE_NAMES_DISABLE: Final = Release(2, 23, 4)


def level_names(release: Release) -> tuple[str, ...]:
    """Return the names a level may have at a release, from nearest to farthest."""
    known = _NAMES_SINCE[0][1]
    for since, names in _NAMES_SINCE:
        if release >= since:
            known = names
    return known


def understand_level(name: str, text: str, release: Release) -> Understood:
    """Return the level that a text sets; `default` means that the variable has no effect."""
    if text in level_names(release):
        return Understood("level", text, "used", f"INFO: {name} set by environment to {text}")
    if text[:1] in tuple("0123456789"):
        number = strtoll(text)
        old = min(to_int32(number.value), len(_OLD_NUMBERS) - 1)
        if old < 0:
            undefined = f"undefined: index {old} out of bounds for type 'int [6]'"
            return Understood("level", undefined, "used", number=old, rest=number.rest)
        level = _OLD_NUMBERS[old]
        message = f"INFO: {name} set by environment to {level}"
        return Understood("level", level, "used", message, old, number.rest)
    return Understood("level", "default", "default", rest=text)


def understand_disable(text: str, release: Release) -> Understood:
    """Return `LOC` (P2P off) where the text reads as exactly 1, else `default`."""
    number = strtoll(text)
    if to_int32(number.value) != 1:
        return Understood("level", "default", "default", "", number.value, number.rest)
    if release >= _MESSAGE_NAMES_DISABLE:
        message = "INFO: NCCL_P2P_DISABLE set by environment to 1"
    else:
        message = "INFO: NCCL_P2P_LEVEL set by environment to LOC"
    return Understood("level", "LOC", "used", message, 1, number.rest)


def p2p_level(disable: str | None, level: str | None, release: Release) -> Understood:
    """Return the P2P level of both variables; a working NCCL_P2P_DISABLE wins."""
    if disable is not None:
        off = understand_disable(disable, release)
        if off.text == "LOC":
            return off
    if level is None:
        return Understood("level", "default", "default")
    return understand_level("NCCL_P2P_LEVEL", level, release)
