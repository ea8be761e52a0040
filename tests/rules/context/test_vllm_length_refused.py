"""What a vLLM user sees, on both sides of each version gate."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from vllm_launches import EAGLE3, outcomes

RULE = "vllm-length-refused"
ALLOWED = {"VLLM_ALLOW_LONG_MAX_MODEL_LEN": "1"}


@pytest.mark.parametrize(
    ("version", "words", "given", "expected"),
    [
        ("0.20.2", ("--max-model-len", "131072"), {}, []),
        ("0.20.2", ("--max-model-len", "131073"), {}, ["refuses"]),
        ("0.20.2", ("--max-model-len", "131073"), {"environment": ALLOWED}, []),
        ("0.20.2", (), {"speculative": {**EAGLE3, "max_model_len": 131072}}, []),
        ("0.20.2", (), {"speculative": {**EAGLE3, "max_model_len": 131073}}, ["refuses"]),
        ("0.11.0", ("--max-model-len", "-1"), {}, []),
        ("0.11.1", ("--max-model-len", "-1"), {}, ["refuses"]),
        ("0.13.0", ("--max-model-len", "-1"), {}, ["refuses"]),
        ("0.14.0", ("--max-model-len", "-1"), {}, []),
    ],
)
def test_what_vllm_does(
    tmp_path: Path, version: str, words: tuple[str, ...], given: dict[str, Any], expected: list[str]
) -> None:
    assert outcomes(tmp_path, RULE, version, *words, **given) == expected
