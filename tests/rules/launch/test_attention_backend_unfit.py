"""What a user sees, on both sides of each version gate."""

from __future__ import annotations

from pathlib import Path

import pytest
from launches import EAGLE3_FLAGS, outcomes

EAGLE3 = ("--speculative-algorithm", "EAGLE3")
CHAIN = EAGLE3_FLAGS


@pytest.mark.parametrize(
    ("version", "hardware", "backend", "expected"),
    [
        ("0.5.9", "h100", "flex_attention", ["refuses"]),
        ("0.5.9", "h100", "trtllm_mha", ["refuses"]),
        ("0.5.23", "h100", "trtllm_mha", []),
        ("0.5.9", "b200", "trtllm_mha", []),
        ("0.5.9", "h100", "triton", []),
        ("0.5.6.post2", "h100", "fa4", ["refuses"]),
        ("0.5.9", "h100", "fa4", []),
    ],
)
def test_backend_and_machine(
    tmp_path: Path, version: str, hardware: str, backend: str, expected: list[str]
) -> None:
    words = (*CHAIN, "--attention-backend", backend)
    rule = "attention-backend-unfit"
    assert outcomes(tmp_path, rule, version, *words, hardware=hardware) == expected


def test_unknown_machine_gives_no_alarm(tmp_path: Path) -> None:
    words = (*CHAIN, "--attention-backend", "trtllm_mha")
    assert outcomes(tmp_path, "attention-backend-unfit", "0.5.9", *words) == []
