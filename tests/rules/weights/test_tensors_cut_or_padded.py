from __future__ import annotations

from pathlib import Path

import pytest
from make_checkpoints import MLP, eagle3_specforge
from weight_launches import judge_draft, judge_twin

from specpreflight.models.finding import Outcome

RULE = "tensors-cut-or-padded"


def test_a_small_head_dim_cuts_the_projections(tmp_path: Path) -> None:
    [finding] = judge_twin(RULE, tmp_path)
    assert finding.outcome is Outcome.ACCEPTS_NOTHING
    assert "cut without a word" in finding.message
    assert finding.remedies[0].edits[0].after == 64
    assert finding.remedies[0].applicability == "unsafe"


@pytest.mark.parametrize(
    ("size", "release", "words"),
    [
        (MLP, "0.5.13", None),
        (MLP - 64, "0.5.13", "cut"),
        (MLP + 64, "0.5.13", "padded"),
        (MLP - 64, "0.5.2", "cut"),
        (MLP + 64, "0.5.2", None),
        (MLP + 64, "0.5.3", "padded"),
    ],
)
def test_width_of_the_mlp(tmp_path: Path, size: int, release: str, words: str | None) -> None:
    draft = eagle3_specforge()
    draft.config["intermediate_size"] = size
    found = judge_draft(RULE, tmp_path, draft, release)
    assert [words in finding.message for finding in found if words] == [True] * bool(words)
    assert bool(found) is bool(words)


def test_padding_of_the_vocabulary_is_on_purpose(tmp_path: Path) -> None:
    draft = eagle3_specforge()
    draft.config["draft_vocab_size"] = 100
    draft.shapes["lm_head.weight"] = (100, 128)
    draft.shapes["d2t"] = (100,)
    assert judge_draft(RULE, tmp_path, draft) == []
