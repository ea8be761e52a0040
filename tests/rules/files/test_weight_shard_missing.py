from __future__ import annotations

from pathlib import Path

import pytest
from weight_launches import judge_twin

from specpreflight.models.finding import Outcome

RULE = "weight-shard-missing"


@pytest.mark.parametrize(
    ("release", "outcome"), [("0.5.6.post2", Outcome.ACCEPTS_NOTHING), ("0.5.7", Outcome.CRASHES)]
)
def test_refused_from_0_5_7(tmp_path: Path, release: str, outcome: Outcome) -> None:
    [finding] = judge_twin(RULE, tmp_path, release=release)
    assert finding.outcome is outcome
    assert "model-2.safetensors" in finding.message


def test_quiet_where_only_the_small_files_were_fetched(tmp_path: Path) -> None:
    def remove_all(draft: Path, target: Path) -> None:
        for path in draft.glob("*.safetensors"):
            path.unlink()

    assert judge_twin(RULE, tmp_path, damage=remove_all) == []


def test_quiet_when_complete(tmp_path: Path) -> None:
    assert judge_twin(RULE, tmp_path, damage=lambda draft, target: None) == []
