from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from make_checkpoints import eagle3_specforge
from weight_launches import judge_draft, judge_twin

from specpreflight.models.finding import Outcome

RULE = "config-from-template"


def test_two_defaults_that_the_target_contradicts(tmp_path: Path) -> None:
    [finding] = judge_twin(RULE, tmp_path)
    assert finding.outcome is Outcome.STARTS
    assert "`max_position_embeddings`, `rope_theta`" in finding.message
    assert "SpecForge" in finding.detail


@pytest.mark.parametrize(
    ("changes", "count"),
    [
        ({"max_position_embeddings": 2048}, 0),
        ({"max_position_embeddings": 2048, "rope_theta": 10000}, 1),
        ({"max_position_embeddings": 2048, "rope_theta": None}, 1),
        ({"max_position_embeddings": 3000, "rope_theta": 10000}, 0),
        ({"max_position_embeddings": 2048, "rope_parameters": {"rope_theta": 500000.0}}, 0),
        ({"vocab_size": 32000, "bos_token_id": 128000}, 1),
    ],
)
def test_how_many_defaults_count(tmp_path: Path, changes: dict[str, Any], count: int) -> None:
    draft = eagle3_specforge()
    draft.config.update(changes)
    assert len(judge_draft(RULE, tmp_path, draft)) == count
