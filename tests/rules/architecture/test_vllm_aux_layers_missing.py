"""What a vLLM user sees, on both sides of each version gate."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from launches import LLAMA_EAGLE3
from vllm_launches import outcomes

RULE = "vllm-aux-layers-missing"
KEY = "eagle_aux_hidden_state_layer_ids"


@pytest.mark.parametrize(
    ("version", "keys", "expected"),
    [
        ("0.20.2", {KEY: [2, 16, 32]}, []),
        ("0.20.2", {KEY: [2, 16, 33]}, ["crashes"]),
        ("0.11.0", {KEY: [2, 16, 33]}, []),
        ("0.20.2", {"eagle_config": {KEY: [2, 16, 33]}}, []),
        ("0.22.0", {"eagle_config": {KEY: [2, 16, 33]}}, ["crashes"]),
        ("0.33.0", {}, []),
    ],
)
def test_what_vllm_does(
    tmp_path: Path, version: str, keys: dict[str, Any], expected: list[str]
) -> None:
    assert outcomes(tmp_path, RULE, version, draft={**LLAMA_EAGLE3, **keys}) == expected


def test_dflash_ids_count_from_the_layer_after(tmp_path: Path) -> None:
    draft = {
        **LLAMA_EAGLE3,
        "architectures": ["DFlashDraftModel"],
        "model_type": "qwen3",
        "block_size": 16,
        "dflash_config": {"mask_token_id": 1, "target_layer_ids": [1, 9, 17, 25, 33]},
    }
    speculative = {"method": "dflash", "num_speculative_tokens": 15}
    given: Any = {"draft": draft, "speculative": speculative}
    assert outcomes(tmp_path, RULE, "0.24.0", **given) == ["crashes"]
