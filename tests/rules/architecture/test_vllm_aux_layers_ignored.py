"""What a vLLM user sees, on both sides of each version gate."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from launches import LLAMA_EAGLE3
from vllm_launches import outcomes

RULE = "vllm-aux-layers-ignored"
LAYERS = {"eagle_aux_hidden_state_layer_ids": [3, 9, 20]}
DEFAULTS = {"eagle_aux_hidden_state_layer_ids": [2, 16, 29]}
OUTPUTS = {"eagle_aux_hidden_state_layer_ids": [1, 15, 28]}


@pytest.mark.parametrize(
    ("version", "words", "given", "expected"),
    [
        ("0.11.0", (), {"draft": {**LLAMA_EAGLE3, **LAYERS}}, ["degrades"]),
        ("0.11.1", (), {"draft": {**LLAMA_EAGLE3, **LAYERS}}, []),
        ("0.20.2", (), {"draft": {**LLAMA_EAGLE3, "eagle_config": LAYERS}}, ["degrades"]),
        ("0.22.0", (), {"draft": {**LLAMA_EAGLE3, "eagle_config": LAYERS}}, []),
        ("0.26.0", (), {"draft": {**LLAMA_EAGLE3, "eagle_config": LAYERS}}, ["degrades"]),
        ("0.26.0", (), {"draft": {**LLAMA_EAGLE3, "eagle_config": DEFAULTS}}, []),
        ("0.26.0", (), {"draft": {**LLAMA_EAGLE3, "eagle_config": OUTPUTS}}, []),
    ],
)
def test_what_vllm_does(
    tmp_path: Path, version: str, words: tuple[str, ...], given: dict[str, Any], expected: list[str]
) -> None:
    assert outcomes(tmp_path, RULE, version, *words, **given) == expected
