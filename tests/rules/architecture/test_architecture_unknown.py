"""What a user sees, on both sides of each version gate."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from launches import EAGLE3_FLAGS, LLAMA, LLAMA_EAGLE3, change, outcomes

RULE = "architecture-unknown"


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        (["Eagle3LlamaForCausalLM"], True),
        (["Eagle3Speculator"], True),
        (..., True),
        (None, True),
        ([], True),
        (["LlamaForCausalLMEagle3"], False),
        (["LlamaForCausalLMEagle3", "Other"], False),
    ],
)
@pytest.mark.parametrize("version", ["0.5.2", "0.5.23"])
def test_draft(tmp_path: Path, version: str, names: Any, expected: bool) -> None:
    draft = change(LLAMA_EAGLE3, architectures=names)
    assert bool(outcomes(tmp_path, RULE, version, *EAGLE3_FLAGS, draft=draft)) is expected


def test_target(tmp_path: Path) -> None:
    target = change(LLAMA, architectures=["MyForCausalLM"])
    assert outcomes(tmp_path, RULE, "0.5.11", *EAGLE3_FLAGS, target=target)


@pytest.mark.parametrize(("version", "expected"), [("0.5.11", True), ("0.5.13", False)])
def test_mla_draft_came_between(tmp_path: Path, version: str, expected: bool) -> None:
    draft = change(LLAMA_EAGLE3, architectures=["Eagle3DeepseekV2ForCausalLM"])
    assert bool(outcomes(tmp_path, RULE, version, *EAGLE3_FLAGS, draft=draft)) is expected
