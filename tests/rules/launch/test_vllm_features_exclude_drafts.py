"""What a vLLM user sees, on both sides of each version gate."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from vllm_launches import outcomes

RULE = "vllm-features-exclude-drafts"
NGRAM: dict[str, Any] = {
    "method": "ngram",
    "model": ...,
    "num_speculative_tokens": 3,
    "prompt_lookup_max": 3,
}


@pytest.mark.parametrize(
    ("version", "words", "given", "expected"),
    [
        ("0.20.2", ("--kv-sharing-fast-prefill",), {}, ["refuses"]),
        ("0.20.2", ("--kv-sharing-fast-prefill",), {"speculative": NGRAM}, []),
        ("0.20.2", ("--enable-dbo",), {}, ["refuses"]),
        ("0.23.0", ("--enable-dbo", "--all2all-backend", "nixl_ep"), {}, ["refuses"]),
        ("0.24.0", ("--enable-dbo", "--all2all-backend", "nixl_ep"), {}, []),
    ],
)
def test_what_vllm_does(
    tmp_path: Path, version: str, words: tuple[str, ...], given: dict[str, Any], expected: list[str]
) -> None:
    assert outcomes(tmp_path, RULE, version, *words, **given) == expected
