"""What a user sees, on both sides of each version gate."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from launches import EAGLE3_FLAGS, LLAMA_EAGLE3, change, outcomes

RULE = "dtype-unknown"


@pytest.mark.parametrize(
    ("dtype", "expected"),
    [("bf16", True), ("bfloat16", False), ("float16", False), (None, False), (..., False)],
)
@pytest.mark.parametrize("version", ["0.5.9", "0.5.23"])
def test_names(tmp_path: Path, version: str, dtype: Any, expected: bool) -> None:
    draft = change(LLAMA_EAGLE3, torch_dtype=dtype)
    assert bool(outcomes(tmp_path, RULE, version, *EAGLE3_FLAGS, draft=draft)) is expected
