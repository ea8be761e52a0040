"""What a user sees, on both sides of each version gate."""

from __future__ import annotations

from pathlib import Path

import pytest
from launches import EAGLE3_FLAGS, outcomes

EAGLE3 = ("--speculative-algorithm", "EAGLE3")
CHAIN = EAGLE3_FLAGS


@pytest.mark.parametrize(
    ("version", "words", "expected"),
    [
        ("0.5.9", ("--speculative-algorithm", "DFLASH"), ["refuses"]),
        ("0.5.11", ("--speculative-algorithm", "DFLASH"), []),
        ("0.5.9", (*CHAIN, "--frobnicate"), ["refuses"]),
        ("0.5.9", (*CHAIN, "--context-length", "32k"), ["refuses"]),
        ("0.5.12", (*CHAIN, "--context-length", "32k"), []),
        ("0.5.9", CHAIN, []),
    ],
)
def test_what_argparse_says(
    tmp_path: Path, version: str, words: tuple[str, ...], expected: list[str]
) -> None:
    assert outcomes(tmp_path, "arguments-not-understood", version, *words) == expected
