"""What a vLLM user sees, on both sides of each version gate."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from vllm_launches import outcomes

RULE = "vllm-batch-budget-small"
BATCH = ("--max-num-seqs", "256", "--max-num-batched-tokens")


@pytest.mark.parametrize(
    ("version", "words", "given", "expected"),
    [
        ("0.11.0", (*BATCH, "1023", "--enable-lora"), {}, []),
        ("0.13.0", (*BATCH, "1023", "--enable-lora"), {}, ["refuses"]),
        ("0.13.0", (*BATCH, "1024", "--enable-lora"), {}, []),
        ("0.13.0", (*BATCH, "255"), {}, ["refuses"]),
        ("0.13.0", (*BATCH, "256"), {}, []),
        ("0.20.2", (*BATCH, "1024"), {}, ["adjusts"]),
    ],
)
def test_what_vllm_does(
    tmp_path: Path, version: str, words: tuple[str, ...], given: dict[str, Any], expected: list[str]
) -> None:
    assert outcomes(tmp_path, RULE, version, *words, **given) == expected
