"""What a user sees, on both sides of each version gate."""

from __future__ import annotations

from pathlib import Path

import pytest
from launches import EAGLE3_FLAGS, outcomes

EAGLE3 = ("--speculative-algorithm", "EAGLE3")
CHAIN = EAGLE3_FLAGS


@pytest.mark.parametrize(
    ("version", "name", "expected"),
    [
        ("0.5.13", "MEDUSA", ["refuses"]),
        ("0.5.23", "MEDUSA", ["refuses"]),
        ("0.5.23", "EAGLE3", []),
        ("0.5.23", "eagle3", []),
    ],
)
def test_names(tmp_path: Path, version: str, name: str, expected: list[str]) -> None:
    words = ("--speculative-algorithm", name)
    assert outcomes(tmp_path, "algorithm-unknown", version, *words) == expected
