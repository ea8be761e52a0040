"""What a user sees, on both sides of each version gate."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from launches import EAGLE3_FLAGS, LLAMA, change, outcomes

RULE = "target-cannot-capture"
QWEN3 = change(LLAMA, architectures=["Qwen3ForCausalLM"], model_type="qwen3")


@pytest.mark.parametrize(
    ("version", "target", "expected"),
    [
        ("0.4.6.post5", LLAMA, []),
        ("0.5.23", LLAMA, []),
        ("0.4.8.post1", QWEN3, ["crashes"]),
        ("0.5.2", QWEN3, []),
    ],
)
def test_capture_by_release(
    tmp_path: Path, version: str, target: dict[str, Any], expected: list[str]
) -> None:
    got = outcomes(tmp_path, RULE, version, *EAGLE3_FLAGS, target=target)
    assert got[:1] == expected
