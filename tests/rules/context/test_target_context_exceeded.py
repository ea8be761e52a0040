"""What a user sees, on both sides of each version gate."""

from __future__ import annotations

from pathlib import Path

import pytest
from launches import EAGLE3_FLAGS, outcomes

EAGLE3 = ("--speculative-algorithm", "EAGLE3")
CHAIN = EAGLE3_FLAGS


@pytest.mark.parametrize(
    ("version", "length", "expected"),
    [
        ("0.4.9.post6", 131073, []),
        ("0.5.2", 131071, []),
        ("0.5.2", 131072, []),
        ("0.5.2", 131073, ["refuses"]),
        ("0.5.23", 131073, ["refuses"]),
    ],
)
def test_length_given_by_hand(
    tmp_path: Path, version: str, length: int, expected: list[str]
) -> None:
    words = (*CHAIN, "--context-length", str(length))
    assert outcomes(tmp_path, "target-context-exceeded", version, *words) == expected


def test_variable_forces_it(tmp_path: Path) -> None:
    words = (*CHAIN, "--context-length", "262144")
    forced = {"SGLANG_ALLOW_OVERWRITE_LONGER_CONTEXT_LEN": "1"}
    assert outcomes(tmp_path, "target-context-exceeded", "0.5.23", *words, environment=forced) == []
