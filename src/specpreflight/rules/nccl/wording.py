"""How the NCCL rules write values and remedies; no rule itself."""

from __future__ import annotations

from typing import Final

from specpreflight.models.finding import Remedy

_LONGEST: Final = 24


def shown(text: str | None) -> str:
    """Return a value as it stands in a message: control characters visible, at most 24 wide."""
    if text is None:
        return "?"
    visible = text.encode("unicode_escape").decode() if not text.isprintable() else text
    return visible if len(visible) <= _LONGEST else f"{visible[: _LONGEST - 1]}…"


def set_to(name: str, value: str, *, safe: bool = True) -> Remedy:
    """Return the remedy that gives a variable another value."""
    return Remedy(
        f"set {name}={value}",
        "environment",
        "safe" if safe else "unsafe",
        environment={name: value},
    )


def unset(*names: str) -> Remedy:
    """Return the remedy that removes variables."""
    return Remedy(f"unset {' '.join(names)}", "manual", "safe")
