"""What a vLLM user sees, on both sides of each version gate."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from launches import LLAMA
from vllm_launches import EAGLE3, outcomes

RULE = "vllm-method-unfit"
NO_METHOD = {"num_speculative_tokens": 3}
INDEPENDENT = {"method": "draft_model", "num_speculative_tokens": 3}


@pytest.mark.parametrize(
    ("version", "words", "given", "expected"),
    [
        ("0.16.0", (), {"speculative": NO_METHOD}, ["refuses"]),
        ("0.17.0", (), {"speculative": NO_METHOD}, ["crashes"]),
        ("0.17.0", (), {"speculative": NO_METHOD, "draft": LLAMA}, []),
        ("0.17.0", (), {"speculative": NO_METHOD, "draft_name": "eagle3"}, []),
        ("0.14.0", (), {"speculative": INDEPENDENT, "draft": LLAMA}, ["refuses"]),
        ("0.15.0", (), {"speculative": INDEPENDENT, "draft": LLAMA}, []),
        ("0.20.2", (), {"speculative": INDEPENDENT, "draft_name": "eagle3"}, ["adjusts"]),
        ("0.20.2", (), {"speculative": {**EAGLE3, "model": ...}}, ["refuses"]),
        ("0.20.2", (), {"speculative": {"method": "suffix", "model": ...}}, ["refuses"]),
    ],
)
def test_what_vllm_does(
    tmp_path: Path, version: str, words: tuple[str, ...], given: dict[str, Any], expected: list[str]
) -> None:
    assert outcomes(tmp_path, RULE, version, *words, **given) == expected
