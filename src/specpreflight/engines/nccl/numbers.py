"""Plain numbers, the two hundred `NCCL_PARAM` variables.

Restates `src/misc/param.cc:ncclLoadParam`: empty is unset; otherwise `strtoll` base 0 reads what
it can and the rest is not looked at; only a number beyond 64 bits gives the default.
"""

from __future__ import annotations

from specpreflight.engines.nccl.c_text import strtoll
from specpreflight.models.nccl import Understood


def understand_number(name: str, text: str, default: str) -> Understood:
    """Return the number a text sets; `default` is the built-in one, for NCCL's own message."""
    if not text:
        return Understood("int", "default", "default")
    number = strtoll(text)
    if number.overflow:
        message = f"INFO: Invalid value {text} for {name}, using default {default}."
        return Understood("int", "default", "default", message, rest=text)
    message = f"INFO: {name} set by environment to {number.value}."
    return Understood("int", str(number.value), "used", message, number.value, number.rest)


def read_number(text: str | None, default: int) -> int:
    """Return what the accessor of a variable returns; `None` is unset."""
    if not text:
        return default
    number = strtoll(text)
    return default if number.overflow else number.value
