"""What a user sees, on both sides of each version gate."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from launches import EAGLE3_FLAGS, LLAMA, LLAMA_EAGLE3, change, outcomes

RULE = "model-type-unknown"
SPECULATORS = change(LLAMA_EAGLE3, model_type=..., speculators_model_type="eagle3")


@pytest.mark.parametrize(
    ("version", "draft", "expected"),
    [
        ("0.5.6.post2", change(LLAMA_EAGLE3, model_type="no_such_type"), ["crashes"]),
        ("0.5.23", change(LLAMA_EAGLE3, model_type="no_such_type"), ["refuses"]),
        ("0.5.11", SPECULATORS, ["refuses"]),
        ("0.5.11", LLAMA_EAGLE3, []),
    ],
)
def test_draft(tmp_path: Path, version: str, draft: dict[str, Any], expected: list[str]) -> None:
    assert outcomes(tmp_path, RULE, version, *EAGLE3_FLAGS, draft=draft) == expected


@pytest.mark.parametrize(("version", "expected"), [("0.5.8.post1", ["refuses"]), ("0.5.9", [])])
def test_kimi_k25_came_with_0_5_9(tmp_path: Path, version: str, expected: list[str]) -> None:
    target = {
        "architectures": ["KimiK25ForConditionalGeneration"],
        "model_type": "kimi_k25",
        "text_config": change(LLAMA, model_type="kimi_k2", architectures=["DeepseekV3ForCausalLM"]),
    }
    assert outcomes(tmp_path, RULE, version, *EAGLE3_FLAGS, target=target) == expected
