"""What a vLLM user sees: float16 against bfloat16."""

from __future__ import annotations

from pathlib import Path

import pytest
from launches import LLAMA, LLAMA_EAGLE3, change
from vllm_launches import outcomes

RULE = "vllm-draft-overflows-half"
DFLASH2 = {
    **LLAMA_EAGLE3,
    "architectures": ["DFlash2DraftModel"],
    "model_type": "qwen3",
    "dflash_config": {"mask_token_id": 1, "target_layer_ids": [1, 9, 17]},
}


@pytest.mark.parametrize(
    ("words", "dtype", "expected"),
    [
        (("--dtype", "float16"), "bfloat16", ["accepts-nothing"]),
        (("--dtype", "half"), "bfloat16", ["accepts-nothing"]),
        (("--dtype", "bfloat16"), "float16", []),
        ((), "float16", ["accepts-nothing"]),
        (("--dtype", "auto"), "bfloat16", []),
    ],
)
def test_what_vllm_does(
    tmp_path: Path, words: tuple[str, ...], dtype: str, expected: list[str]
) -> None:
    speculative = {"method": "dflash", "num_speculative_tokens": 7}
    target = change(LLAMA, torch_dtype=dtype)
    got = outcomes(
        tmp_path, RULE, "0.33.0", *words, speculative=speculative, target=target, draft=DFLASH2
    )
    assert got == expected
