from __future__ import annotations

from pathlib import Path

import pytest
from make_checkpoints import eagle3_specforge
from weight_launches import judge_draft, judge_twin

from specpreflight.models.finding import Outcome

RULE = "parameters-without-weights"


def test_a_wrapped_draft_loads_nothing_and_can_be_converted(tmp_path: Path) -> None:
    [finding] = judge_twin(RULE, tmp_path)
    assert finding.outcome is Outcome.ACCEPTS_NOTHING
    assert "It would take `_orig_mod." in finding.detail
    assert "convert" in finding.remedies[0].title


@pytest.mark.parametrize(
    ("release", "count"), [("0.5.11", 1), ("0.5.12", 0), ("0.5.23", 0), ("0.4.9.post6", 1)]
)
def test_decoder_under_layers_0_by_release(tmp_path: Path, release: str, count: int) -> None:
    draft = eagle3_specforge()
    draft.rename(lambda name: name.replace("midlayer.", "layers.0."))
    found = judge_draft(RULE, tmp_path, draft, release)
    assert len(found) == count
    assert all("`midlayer." in finding.detail for finding in found)


def test_a_missing_norm_degrades(tmp_path: Path) -> None:
    draft = eagle3_specforge()
    del draft.shapes["midlayer.hidden_norm.weight"]
    [finding] = judge_draft(RULE, tmp_path, draft)
    assert finding.outcome is Outcome.DEGRADES
    assert "hidden_norm" in finding.message


def test_a_missing_embedding_is_shared_unless_widths_differ(tmp_path: Path) -> None:
    draft = eagle3_specforge()
    assert judge_draft(RULE, tmp_path / "same", draft) == []
    draft.config["target_hidden_size"] = 256
    draft.shapes["fc.weight"] = (128, 768)
    [finding] = judge_draft(RULE, tmp_path / "other", draft)
    assert "embed_tokens" in finding.message
