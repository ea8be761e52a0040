"""What a user sees, on both sides of each version gate."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from launches import EAGLE3_FLAGS, LLAMA, change, outcomes

RULE = "quantization-unfit"
AWQ = change(LLAMA, quantization_config={"quant_method": "awq", "bits": 4, "group_size": 128})


@pytest.mark.parametrize(
    ("target", "words", "expected"),
    [
        (AWQ, (), False),
        (AWQ, ("--quantization", "fp8"), True),
        (LLAMA, ("--quantization", "fp8"), False),
        (change(LLAMA, quantization_config={"quant_method": "nf3"}), (), True),
    ],
)
@pytest.mark.parametrize("version", ["0.5.9", "0.5.23"])
def test_target(
    tmp_path: Path, version: str, target: dict[str, Any], words: tuple[str, ...], expected: bool
) -> None:
    got = outcomes(tmp_path, RULE, version, *EAGLE3_FLAGS, *words, target=target)
    assert bool(got) is expected
