from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from launches import LLAMA_EAGLE3, bare_launch, change, resolved_with

from specpreflight.models.finding import Finding, Outcome
from specpreflight.rules.architecture.aux_layers_out_of_range import RULE

KEY = "eagle_aux_hidden_state_layer_ids"


def findings(directory: Path, draft: dict[str, Any], **facts: Any) -> list[Finding]:
    return list(RULE.check(bare_launch(directory, draft=draft), resolved_with(**facts)))


def with_ids(ids: Any) -> dict[str, Any]:
    return change(LLAMA_EAGLE3, eagle_config={KEY: ids})


@pytest.mark.parametrize(
    ("last", "offset", "count"), [(30, 1, 0), (31, 1, 0), (32, 1, 1), (32, 0, 0), (33, 0, 1)]
)
def test_last_layer_with_the_offset_of_the_release(
    tmp_path: Path, last: int, offset: int, count: int
) -> None:
    found = findings(tmp_path, with_ids([2, 16, last]), aux_layer_offset=offset)
    assert len(found) == count
    assert all(finding.outcome is Outcome.CRASHES for finding in found)


def test_negative_id(tmp_path: Path) -> None:
    [finding] = findings(tmp_path, with_ids([-1, 16, 28]), aux_layer_offset=0)
    assert "-1 is outside" in finding.message


def test_top_level_ids_are_ignored_by_the_engine(tmp_path: Path) -> None:
    [finding] = findings(tmp_path, change(LLAMA_EAGLE3, **{KEY: [2, 16, 29]}))
    assert finding.outcome is Outcome.DEGRADES


@pytest.mark.parametrize("ids", [None, "2,16,29", {"a": 1}, ["2"], []])
def test_strange_lists_are_no_crash(tmp_path: Path, ids: Any) -> None:
    assert findings(tmp_path, with_ids(ids)) == []
