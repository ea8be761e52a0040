"""What a vLLM user sees, on both sides of each version gate."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from launches import LLAMA_EAGLE3, change
from vllm_launches import EAGLE3, outcomes

RULE = "vllm-length-changed"
SHORT = change(LLAMA_EAGLE3, max_position_embeddings=65536)
DYNAMIC = {"rope_type": "dynamic", "factor": 1.0}


@pytest.mark.parametrize(
    ("version", "words", "given", "expected"),
    [
        ("0.26.0", (), {"draft": SHORT}, []),
        ("0.27.0", (), {"draft": SHORT}, ["adjusts"]),
        ("0.33.0", (), {"draft": SHORT}, ["adjusts"]),
        ("0.33.0", (), {"draft": {**SHORT, "rope_scaling": DYNAMIC}}, ["adjusts"]),
        ("0.20.2", ("--max-model-len", "65536"), {}, ["adjusts"]),
        ("0.20.2", ("--max-model-len", "65536"), {"draft": SHORT}, []),
        ("0.20.2", (), {"speculative": {**EAGLE3, "max_model_len": 4096}}, ["degrades"]),
    ],
)
def test_what_vllm_does(
    tmp_path: Path, version: str, words: tuple[str, ...], given: dict[str, Any], expected: list[str]
) -> None:
    assert outcomes(tmp_path, RULE, version, *words, **given) == expected
