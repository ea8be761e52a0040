from __future__ import annotations

from pathlib import Path

import pytest
from make_checkpoints import HIDDEN, VOCABULARY, eagle3_specforge
from weight_launches import judge_draft, judge_twin

from specpreflight.models.finding import Outcome

RULE = "vocabulary-map-missing"


def test_a_reduced_vocabulary_needs_its_map(tmp_path: Path) -> None:
    [finding] = judge_twin(RULE, tmp_path)
    assert finding.outcome is Outcome.ACCEPTS_NOTHING


@pytest.mark.parametrize(
    ("rows", "count"), [(VOCABULARY - 1, 1), (VOCABULARY, 0), (VOCABULARY + 1, 0)]
)
def test_only_where_the_vocabulary_is_smaller(tmp_path: Path, rows: int, count: int) -> None:
    draft = eagle3_specforge()
    draft.config["draft_vocab_size"] = rows
    draft.shapes["lm_head.weight"] = (rows, HIDDEN)
    del draft.shapes["d2t"]
    assert len(judge_draft(RULE, tmp_path, draft)) == count


@pytest.mark.parametrize(("name", "count"), [("model.d2t", 0), ("D2T", 1), ("draft_to_target", 1)])
def test_which_names_count_as_the_map(tmp_path: Path, name: str, count: int) -> None:
    draft = eagle3_specforge()
    draft.rename(lambda old: name if old == "d2t" else old)
    assert len(judge_draft(RULE, tmp_path, draft)) == count
