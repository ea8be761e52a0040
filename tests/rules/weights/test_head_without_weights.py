from __future__ import annotations

from pathlib import Path

import pytest
from make_checkpoints import REDUCED, VOCABULARY, eagle3_mla, eagle3_specforge
from weight_launches import judge_draft, judge_twin

from specpreflight.models.finding import Outcome

RULE = "head-without-weights"


def test_missing_head_of_the_whole_vocabulary_can_be_shared(tmp_path: Path) -> None:
    [finding] = judge_twin(RULE, tmp_path)
    assert finding.outcome is Outcome.ACCEPTS_NOTHING
    assert "is not in the file" in finding.message
    [edit] = finding.remedies[0].edits
    assert (edit.pointer, edit.before, edit.after) == ("/draft_vocab_size", VOCABULARY, None)


@pytest.mark.parametrize("rows", [REDUCED, VOCABULARY - 1])
def test_a_reduced_head_cannot_be_shared(tmp_path: Path, rows: int) -> None:
    draft = eagle3_mla()
    draft.config["draft_vocab_size"] = rows
    del draft.shapes["lm_head.weight"]
    [finding] = judge_draft(RULE, tmp_path, draft)
    assert all(not remedy.edits for remedy in finding.remedies)


@pytest.mark.parametrize(("size", "count"), [(None, 0), (VOCABULARY, 1)])
def test_null_means_the_targets_head(tmp_path: Path, size: int | None, count: int) -> None:
    draft = eagle3_specforge()
    draft.config["draft_vocab_size"] = size
    del draft.shapes["lm_head.weight"]
    assert len(judge_draft(RULE, tmp_path, draft)) == count


def test_a_head_under_another_name_is_named(tmp_path: Path) -> None:
    draft = eagle3_specforge()
    draft.rename(lambda name: f"model.{name}")
    [finding] = judge_draft(RULE, tmp_path, draft)
    assert "model.lm_head.weight" in finding.message
    assert "convert" in finding.remedies[0].title


def test_quiet_with_a_head(tmp_path: Path) -> None:
    assert judge_draft(RULE, tmp_path, eagle3_specforge()) == []
