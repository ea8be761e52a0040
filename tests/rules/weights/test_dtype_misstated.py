from __future__ import annotations

from pathlib import Path

import pytest
from make_checkpoints import eagle3_specforge
from weight_launches import judge_draft, judge_twin

from specpreflight.models.finding import Outcome

RULE = "dtype-misstated"


def test_float32_weights_under_bfloat16(tmp_path: Path) -> None:
    [finding] = judge_twin(RULE, tmp_path)
    assert finding.outcome is Outcome.STARTS
    assert finding.message == "the weights are F32, `torch_dtype` says bfloat16"


@pytest.mark.parametrize(
    ("stated", "outcome"),
    [("bfloat16", None), ("float16", Outcome.DEGRADES), ("float32", Outcome.STARTS), (None, None)],
)
def test_bfloat16_weights(tmp_path: Path, stated: str | None, outcome: Outcome | None) -> None:
    draft = eagle3_specforge()
    draft.config["torch_dtype"] = stated
    found = judge_draft(RULE, tmp_path, draft)
    assert [finding.outcome for finding in found] == ([outcome] if outcome else [])
