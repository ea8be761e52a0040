"""Slots behind a request that reaches the context length, up to the release that adds them."""

from __future__ import annotations

from pathlib import Path

import pytest
from launches import outcomes

RULE = "no-room-for-drafts"
LIMIT = ("--context-length", "2048")


def drafting(steps: int, topk: int, tokens: int) -> tuple[str, ...]:
    flags = ("num-steps", steps), ("eagle-topk", topk), ("num-draft-tokens", tokens)
    words = [word for name, number in flags for word in (f"--speculative-{name}", str(number))]
    return ("--speculative-algorithm", "EAGLE3", *words)


@pytest.mark.parametrize(
    ("version", "limit", "flags", "expected"),
    [
        ("0.4.10.post2", LIMIT, drafting(5, 8, 64), ["crashes"]),
        ("0.4.10.post2", ("--allow-auto-truncate",), drafting(5, 8, 64), ["crashes"]),
        ("0.4.10.post2", (), drafting(5, 8, 64), []),
        ("0.4.10.post2", LIMIT, drafting(7, 1, 8), []),
        ("0.4.10.post2", LIMIT, drafting(8, 1, 9), ["crashes"]),
        ("0.4.10.post2", LIMIT, drafting(2, 4, 8), []),
        ("0.4.10.post2", LIMIT, drafting(3, 3, 8), ["crashes"]),
        ("0.5.1", LIMIT, drafting(5, 8, 64), []),
    ],
)
def test_slots(
    tmp_path: Path,
    version: str,
    limit: tuple[str, ...],
    flags: tuple[str, ...],
    expected: list[str],
) -> None:
    assert outcomes(tmp_path, RULE, version, *flags, *limit) == expected
