from __future__ import annotations

from pathlib import Path

import pytest
from weight_launches import judge, judge_twin, launch_with, write_pair

from specpreflight.models.finding import Outcome

RULE = "weight-file-broken"


def test_a_pointer_in_place_of_the_weights(tmp_path: Path) -> None:
    [finding] = judge_twin(RULE, tmp_path)
    assert finding.outcome is Outcome.CRASHES
    assert finding.remedies[0].title == "git lfs pull"


@pytest.mark.parametrize(("cut", "count"), [(0, 0), (1, 1), (10_000, 1)])
def test_a_file_cut_short(tmp_path: Path, cut: int, count: int) -> None:
    draft, target = write_pair(tmp_path)
    path = draft / "model.safetensors"
    path.write_bytes(path.read_bytes()[: path.stat().st_size - cut])
    found = judge(RULE, *launch_with(draft, target, "EAGLE3"))
    assert len(found) == count
    assert all("its tensors need" in finding.message for finding in found)
