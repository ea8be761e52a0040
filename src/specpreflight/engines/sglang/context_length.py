"""Where a context length comes from, for reports: which key won and what RoPE scaling did."""

from __future__ import annotations

import re

_LENGTHS = re.compile(
    r"context_length \((\d+)\) is greater than the derived context_length \((\d+)\)"
)


def explain_length(message: str) -> tuple[int, int] | None:
    """Return the wanted and the derived length that an engine message names."""
    match = _LENGTHS.search(message)
    return (int(match.group(1)), int(match.group(2))) if match else None
