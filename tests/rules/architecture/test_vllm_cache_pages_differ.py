"""What a vLLM user sees, on both sides of each version gate."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from launches import LLAMA_EAGLE3, change
from vllm_launches import outcomes

RULE = "vllm-cache-pages-differ"


@pytest.mark.parametrize(
    ("version", "words", "changes", "expected"),
    [
        ("0.10.2", (), {"num_key_value_heads": 32}, ["crashes"]),
        ("0.10.2", (), {"num_key_value_heads": ...}, ["crashes"]),
        ("0.10.2", (), {}, []),
        ("0.10.2", ("-tp", "8"), {"num_key_value_heads": 4}, []),
        ("0.10.2", ("-tp", "1"), {"num_key_value_heads": 32}, ["crashes"]),
        ("0.10.2", ("-tp", "0"), {"num_key_value_heads": 32}, []),
        ("0.10.2", ("-tp", "-1"), {"num_key_value_heads": 32}, []),
        ("0.11.0", (), {"num_key_value_heads": 32}, []),
    ],
)
def test_what_vllm_does(
    tmp_path: Path,
    version: str,
    words: tuple[str, ...],
    changes: dict[str, Any],
    expected: list[str],
) -> None:
    draft = change(LLAMA_EAGLE3, **changes)
    assert outcomes(tmp_path, RULE, version, *words, draft=draft) == expected
