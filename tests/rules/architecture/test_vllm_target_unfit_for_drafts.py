"""What a vLLM user sees, on both sides of each version gate."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from launches import LLAMA, change
from vllm_launches import outcomes

RULE = "vllm-target-unfit-for-drafts"
GEMMA2 = change(LLAMA, architectures=["Gemma2ForCausalLM"], model_type="gemma2")
QWEN2_MOE = change(LLAMA, architectures=["Qwen2MoeForCausalLM"], model_type="qwen2_moe")


@pytest.mark.parametrize(
    ("version", "words", "given", "expected"),
    [
        ("0.20.2", (), {"target": GEMMA2}, ["refuses", "crashes"]),
        ("0.33.0", (), {"target": GEMMA2}, ["crashes"]),
        ("0.20.2", (), {"target": QWEN2_MOE}, ["crashes"]),
        ("0.20.2", (), {}, []),
    ],
)
def test_what_vllm_does(
    tmp_path: Path, version: str, words: tuple[str, ...], given: dict[str, Any], expected: list[str]
) -> None:
    assert outcomes(tmp_path, RULE, version, *words, **given) == expected
