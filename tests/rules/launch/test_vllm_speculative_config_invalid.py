"""What a vLLM user sees, on both sides of each version gate."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from vllm_launches import EAGLE3, outcomes

RULE = "vllm-speculative-config-invalid"


@pytest.mark.parametrize(
    ("version", "words", "given", "expected"),
    [
        ("0.15.0", (), {"speculative": {**EAGLE3, "draft_tp": 1}}, ["degrades"]),
        ("0.16.0", (), {"speculative": {**EAGLE3, "draft_tp": 1}}, ["refuses"]),
        ("0.16.0", (), {"speculative": {**EAGLE3, "draft_tensor_parallel_size": 1}}, []),
        ("0.25.0", (), {"speculative": {**EAGLE3, "draft-tensor-parallel-size": 1}}, ["refuses"]),
        ("0.26.0", (), {"speculative": {**EAGLE3, "draft-tensor-parallel-size": 1}}, []),
        ("0.20.2", (), {"speculative": "[1]"}, ["refuses"]),
        ("0.20.2", (), {"speculative": {**EAGLE3, "num_speculative_tokens": "3"}}, []),
        ("0.20.2", (), {"speculative": {**EAGLE3, "num_speculative_tokens": "three"}}, ["refuses"]),
        ("0.22.0", ("--spec-tokens", "4"), {}, ["refuses"]),
        ("0.22.0", ("--spec-tokens", "4"), {"speculative": {"method": "eagle3"}}, []),
    ],
)
def test_what_vllm_does(
    tmp_path: Path, version: str, words: tuple[str, ...], given: dict[str, Any], expected: list[str]
) -> None:
    assert outcomes(tmp_path, RULE, version, *words, **given) == expected
