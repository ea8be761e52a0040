"""What a user sees, on both sides of each version gate."""

from __future__ import annotations

from pathlib import Path

import pytest
from launches import EAGLE3_FLAGS, outcomes

EAGLE3 = ("--speculative-algorithm", "EAGLE3")
CHAIN = EAGLE3_FLAGS


TREE = (*EAGLE3, "--speculative-num-steps", "3", "--speculative-eagle-topk", "4",
        "--speculative-num-draft-tokens", "8")  # fmt: skip
PAGED = ("--page-size", "64")


@pytest.mark.parametrize(
    ("version", "backend", "words", "expected"),
    [
        ("0.5.2", "flashinfer", PAGED, []),
        ("0.5.2", "fa3", PAGED, ["refuses"]),
        ("0.5.6.post2", "fa3", PAGED, []),
        ("0.5.11", "triton", PAGED, ["refuses"]),
        ("0.5.13", "triton", PAGED, []),
        ("0.5.11", "triton", (), []),
        ("0.5.11", "triton", ("--page-size", "1"), []),
    ],
)
def test_tree_with_pages(
    tmp_path: Path, version: str, backend: str, words: tuple[str, ...], expected: list[str]
) -> None:
    given = (*TREE, "--attention-backend", backend, *words)
    rule = "topk-needs-other-backend"
    assert outcomes(tmp_path, rule, version, *given, hardware="h100") == expected


def test_chain_may_have_pages(tmp_path: Path) -> None:
    given = (*CHAIN, "--attention-backend", "triton", *PAGED)
    assert outcomes(tmp_path, "topk-needs-other-backend", "0.5.9", *given) == []
