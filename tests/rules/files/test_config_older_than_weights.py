from __future__ import annotations

import os
from pathlib import Path

import pytest
from broken_checkpoints import TWINS
from weight_launches import judge_twin

RULE = "config-older-than-weights"
DAY = 86_400


@pytest.mark.parametrize(("age", "count"), [(DAY - 1, 0), (DAY, 1), (5 * DAY, 1), (-DAY, 0)])
def test_a_day_or_more(tmp_path: Path, age: int, count: int) -> None:
    def make_older(draft: Path, target: Path) -> None:
        os.utime(draft / "model.safetensors", (2_000_000_000, 2_000_000_000))
        os.utime(draft / "config.json", (2_000_000_000 - age, 2_000_000_000 - age))

    assert len(judge_twin(RULE, tmp_path, damage=make_older)) == count


def test_times_alone_say_nothing(tmp_path: Path) -> None:
    sound = TWINS["head-without-weights"].change
    assert judge_twin(RULE, tmp_path, change=sound) == []
