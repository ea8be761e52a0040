"""What a vLLM user sees, on both sides of each version gate."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from launches import LLAMA, change
from vllm_launches import outcomes

RULE = "vllm-vocabulary-differs"
INDEPENDENT = {"method": "draft_model", "num_speculative_tokens": 3}
OTHER = change(LLAMA, vocab_size=128000)


@pytest.mark.parametrize(
    ("version", "words", "given", "expected"),
    [
        ("0.15.0", (), {"speculative": INDEPENDENT, "draft": OTHER}, ["refuses"]),
        ("0.33.0", (), {"speculative": INDEPENDENT, "draft": OTHER}, ["refuses"]),
        ("0.33.0", (), {"speculative": INDEPENDENT, "draft": LLAMA}, []),
        ("0.33.0", (), {}, []),
    ],
)
def test_what_vllm_does(
    tmp_path: Path, version: str, words: tuple[str, ...], given: dict[str, Any], expected: list[str]
) -> None:
    assert outcomes(tmp_path, RULE, version, *words, **given) == expected
