"""What a vLLM user sees, on both sides of each version gate."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from launches import LLAMA, change
from vllm_launches import outcomes

RULE = "vllm-token-count-unfit"
MTP = {"method": "mtp", "model": ...}
TWO = change(
    LLAMA,
    architectures=["DeepseekV3ForCausalLM"],
    model_type="deepseek_v3",
    num_nextn_predict_layers=2,
)


@pytest.mark.parametrize(
    ("version", "words", "given", "expected"),
    [
        ("0.16.0", (), {"speculative": {"method": "eagle3"}}, ["refuses"]),
        ("0.33.0", (), {"speculative": {"method": "eagle3"}}, ["refuses"]),
        ("0.33.0", (), {}, []),
        ("0.20.2", (), {"speculative": {**MTP, "num_speculative_tokens": 1}, "target": TWO}, []),
        (
            "0.20.2",
            (),
            {"speculative": {**MTP, "num_speculative_tokens": 2}, "target": TWO},
            ["adjusts"],
        ),
        (
            "0.20.2",
            (),
            {"speculative": {**MTP, "num_speculative_tokens": 3}, "target": TWO},
            ["refuses", "adjusts"],
        ),
    ],
)
def test_what_vllm_does(
    tmp_path: Path, version: str, words: tuple[str, ...], given: dict[str, Any], expected: list[str]
) -> None:
    assert outcomes(tmp_path, RULE, version, *words, **given) == expected
