"""What a vLLM user sees, on both sides of each version gate."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from vllm_launches import outcomes

RULE = "vllm-async-scheduling-unfit"
NGRAM: dict[str, Any] = {
    "method": "ngram",
    "model": ...,
    "num_speculative_tokens": 3,
    "prompt_lookup_max": 3,
}


@pytest.mark.parametrize(
    ("version", "words", "given", "expected"),
    [
        ("0.11.0", ("--async-scheduling",), {}, ["refuses"]),
        ("0.11.1", ("--async-scheduling",), {}, []),
        ("0.11.1", ("--async-scheduling",), {"speculative": NGRAM}, ["refuses"]),
        ("0.13.0", (), {"speculative": NGRAM}, []),
        ("0.14.0", (), {"speculative": NGRAM}, ["adjusts"]),
        ("0.32.0", (), {"speculative": NGRAM}, ["adjusts"]),
        ("0.33.0", (), {"speculative": NGRAM}, []),
    ],
)
def test_what_vllm_does(
    tmp_path: Path, version: str, words: tuple[str, ...], given: dict[str, Any], expected: list[str]
) -> None:
    assert outcomes(tmp_path, RULE, version, *words, **given) == expected
