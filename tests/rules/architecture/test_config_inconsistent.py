"""What a user sees, on both sides of each version gate."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from launches import EAGLE3_FLAGS, LLAMA_EAGLE3, change, outcomes

RULE = "config-inconsistent"


@pytest.mark.parametrize(
    ("version", "draft", "expected"),
    [
        ("0.5.9", {"rope_scaling": {"type": "yarn"}}, True),
        ("0.5.23", {"rope_scaling": {"type": "yarn"}}, True),
        ("0.5.9", {"rope_scaling": {"type": "yarn", "factor": 4.0}}, False),
        ("0.5.9", {"num_attention_heads": 0}, True),
        ("0.5.11", {"eagle_config": None}, True),
        ("0.5.16", {"eagle_config": None}, False),
        ("0.5.11", {}, False),
    ],
)
def test_draft(tmp_path: Path, version: str, draft: dict[str, Any], expected: bool) -> None:
    config = change(LLAMA_EAGLE3, **draft)
    assert bool(outcomes(tmp_path, RULE, version, *EAGLE3_FLAGS, draft=config)) is expected
