"""The rotary table of a draft that is let through, on both sides of the release that extends it."""

from __future__ import annotations

from pathlib import Path

import pytest
from launches import EAGLE3_FLAGS, LLAMA_EAGLE3, change, outcomes

RULE = "rotary-table-short"
VARIABLE = "SGLANG_ALLOW_OVERWRITE_LONGER_CONTEXT_LEN"
SHORT = change(LLAMA_EAGLE3, max_position_embeddings=2048)


@pytest.mark.parametrize(
    ("version", "value", "flags", "expected"),
    [
        ("0.4.10.post2", "1", (), ["crashes"]),
        ("0.5.2", "1", (), ["crashes"]),
        ("0.5.3", "1", (), []),
        ("0.4.10.post2", None, (), []),
        ("0.4.10.post2", None, ("--context-length", "2049"), ["crashes"]),
        ("0.4.10.post2", None, ("--context-length", "2048"), []),
        ("0.5.2", None, (), []),
    ],
)
def test_only_where_longer_requests_are_asked_for(
    tmp_path: Path, version: str, value: str | None, flags: tuple[str, ...], expected: list[str]
) -> None:
    environment = {} if value is None else {VARIABLE: value}
    got = outcomes(
        tmp_path, RULE, version, *EAGLE3_FLAGS, *flags, draft=SHORT, environment=environment
    )
    assert got == expected
