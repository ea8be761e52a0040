"""What a vLLM user sees, on both sides of each version gate."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from vllm_launches import EAGLE3, outcomes

RULE = "vllm-verification-lossy"


@pytest.mark.parametrize(
    ("version", "words", "given", "expected"),
    [
        ("0.33.0", (), {"speculative": {**EAGLE3, "rejection_sample_method": "fly"}}, ["degrades"]),
        ("0.33.0", (), {"speculative": {**EAGLE3, "rejection_sample_method": "standard"}}, []),
        ("0.32.0", (), {"speculative": {**EAGLE3, "rejection_sample_method": "fly"}}, []),
    ],
)
def test_what_vllm_does(
    tmp_path: Path, version: str, words: tuple[str, ...], given: dict[str, Any], expected: list[str]
) -> None:
    assert outcomes(tmp_path, RULE, version, *words, **given) == expected
