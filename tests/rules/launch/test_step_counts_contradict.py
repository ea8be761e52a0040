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
        ("0.4.9.post6", (*EAGLE3, "--speculative-eagle-topk", "4"), ["refuses"]),
        ("0.5.23", (*EAGLE3, "--speculative-num-draft-tokens", "4"), ["refuses"]),
        ("0.4.9.post6", (*EAGLE3, "--speculative-num-steps", "3"), []),
        ("0.5.2", (*EAGLE3, "--speculative-num-steps", "3"), ["refuses"]),
        ("0.5.23", EAGLE3, []),
        ("0.5.23", CHAIN, []),
        ("0.5.11", (*CHAIN[:-1], "8"), ["adjusts"]),
    ],
)
def test_given_together(
    tmp_path: Path, version: str, words: tuple[str, ...], expected: list[str]
) -> None:
    assert outcomes(tmp_path, "step-counts-contradict", version, *words) == expected


@pytest.mark.parametrize(
    ("steps", "topk", "tokens", "expected"),
    [
        (2, 4, 20, []),
        (2, 4, 21, []),
        (2, 4, 22, ["crashes"]),
        (1, 4, 5, []),
        (1, 4, 6, ["crashes"]),
    ],
)
def test_tree_has_as_many_candidates_as_tokens_are_asked_for(
    tmp_path: Path, steps: int, topk: int, tokens: int, expected: list[str]
) -> None:
    words = (
        *EAGLE3, "--speculative-num-steps", str(steps), "--speculative-eagle-topk", str(topk),
        "--speculative-num-draft-tokens", str(tokens),
    )  # fmt: skip
    assert outcomes(tmp_path, "step-counts-contradict", "0.5.9", *words) == expected
