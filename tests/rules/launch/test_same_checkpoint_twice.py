from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from launches import LLAMA, bare_launch, change, resolved_with

from specpreflight.models.finding import Outcome
from specpreflight.rules.launch.same_checkpoint_twice import RULE


def count(directory: Path, config: dict[str, Any], **facts: Any) -> int:
    launch = bare_launch(directory, config)
    assert launch.target is not None
    twice = replace(launch, draft=replace(launch.target, role="draft"))
    found = list(RULE.check(twice, resolved_with(**facts)))
    assert all(finding.outcome is Outcome.DEGRADES for finding in found)
    return len(found)


def test_plain_model_twice(tmp_path: Path) -> None:
    assert count(tmp_path, LLAMA) == 1


@pytest.mark.parametrize(("layers", "expected"), [(0, 1), (1, 0), (2, 0)])
def test_checkpoint_with_mtp_layers_is_its_own_draft(
    tmp_path: Path, layers: int, expected: int
) -> None:
    assert count(tmp_path, change(LLAMA, num_nextn_predict_layers=layers)) == expected


def test_engine_that_makes_a_head_of_it_is_right(tmp_path: Path) -> None:
    assert count(tmp_path, LLAMA, draft_is_rewritten=True) == 0


def test_two_directories_are_not_compared(tmp_path: Path) -> None:
    assert list(RULE.check(bare_launch(tmp_path, LLAMA, LLAMA), resolved_with())) == []
