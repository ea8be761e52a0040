from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from launches import LLAMA, LLAMA_EAGLE, LLAMA_EAGLE3, bare_launch, resolved_with

from specpreflight.models.finding import Outcome
from specpreflight.rules.launch.checkpoints_swapped import RULE


def count(directory: Path, target: dict[str, Any], draft: dict[str, Any]) -> int:
    found = list(RULE.check(bare_launch(directory, target, draft), resolved_with()))
    assert all(finding.outcome is Outcome.CRASHES for finding in found)
    return len(found)


@pytest.mark.parametrize("head", [LLAMA_EAGLE, LLAMA_EAGLE3])
def test_head_as_target(tmp_path: Path, head: dict[str, Any]) -> None:
    assert count(tmp_path, head, LLAMA) == 1
    assert count(tmp_path, LLAMA, head) == 0


def test_two_models_or_two_heads_are_not_swapped(tmp_path: Path) -> None:
    assert count(tmp_path, LLAMA, LLAMA) == 0
    assert count(tmp_path, LLAMA_EAGLE3, LLAMA_EAGLE3) == 0
