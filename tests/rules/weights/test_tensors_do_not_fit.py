from __future__ import annotations

from pathlib import Path

import pytest
from make_checkpoints import HIDDEN, REDUCED, eagle3_specforge
from weight_launches import judge_draft, judge_twin

from specpreflight.models.finding import Outcome, Stage

RULE = "tensors-do-not-fit"


def test_fc_of_another_number_of_layers(tmp_path: Path) -> None:
    [finding] = judge_twin(RULE, tmp_path)
    assert (finding.outcome, finding.stage) == (Outcome.CRASHES, Stage.WEIGHTS)
    assert finding.message == "`fc.weight` does not fit its parameter"
    assert "torch.Size([128, 384])) into parameter (torch.Size([128, 640])" in str(
        finding.engine_message
    )


def test_five_ids_were_ignored_before_0_5_12(tmp_path: Path) -> None:
    assert judge_twin(RULE, tmp_path, release="0.5.11") == []


@pytest.mark.parametrize(("rows", "count"), [(REDUCED - 1, 1), (REDUCED, 0), (REDUCED + 1, 1)])
def test_head_rows(tmp_path: Path, rows: int, count: int) -> None:
    draft = eagle3_specforge()
    draft.shapes["lm_head.weight"] = (rows, HIDDEN)
    assert len(judge_draft(RULE, tmp_path, draft)) == count


def test_further_clashes_are_counted_and_suspects_shown(tmp_path: Path) -> None:
    draft = eagle3_specforge()
    draft.config["hidden_size"] = 256
    [finding] = judge_draft(RULE, tmp_path, draft)
    assert "more" in finding.message
    assert any("hidden_size, the weights say 128" in value.label for value in finding.values)
