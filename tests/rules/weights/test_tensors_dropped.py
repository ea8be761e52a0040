from __future__ import annotations

from pathlib import Path

import pytest
from make_checkpoints import HIDDEN, eagle3_specforge
from weight_launches import judge_draft, judge_twin

from specpreflight.models.finding import Confidence, Outcome

RULE = "tensors-dropped"


def test_a_norm_that_this_release_does_not_know(tmp_path: Path) -> None:
    [finding] = judge_twin(RULE, tmp_path)
    assert (finding.outcome, finding.confidence) == (Outcome.DEGRADES, Confidence.OBSERVED)
    assert "input_norm.weight" in finding.message


@pytest.mark.parametrize(("release", "count"), [("0.5.16", 1), ("0.5.17", 0)])
def test_norm_before_fc_by_release(tmp_path: Path, release: str, count: int) -> None:
    draft = eagle3_specforge()
    draft.config["norm_before_fc"] = True
    draft.shapes["input_norm.weight"] = (3 * HIDDEN,)
    assert len(judge_draft(RULE, tmp_path, draft, release)) == count


def test_what_is_dropped_by_design_is_no_finding(tmp_path: Path) -> None:
    draft = eagle3_specforge()
    draft.shapes["layers.0.self_attn.rotary_emb.inv_freq"] = (32,)
    draft.shapes["verifier_norm.weight"] = (HIDDEN,)
    assert judge_draft(RULE, tmp_path, draft) == []
