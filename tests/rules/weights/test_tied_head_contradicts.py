from __future__ import annotations

from pathlib import Path

import pytest
from make_checkpoints import HIDDEN, REDUCED, VOCABULARY, eagle3_specforge
from weight_launches import judge_draft, judge_twin

from specpreflight.models.finding import Outcome

RULE = "tied-head-contradicts"


def test_a_head_of_its_own_makes_the_edit_safe(tmp_path: Path) -> None:
    [finding] = judge_twin(RULE, tmp_path)
    assert finding.outcome is Outcome.CRASHES
    assert finding.remedies[0].applicability == "safe"
    assert finding.remedies[0].edits[0].after is False


def test_without_a_head_the_edit_needs_judgement(tmp_path: Path) -> None:
    draft = eagle3_specforge()
    draft.config["tie_word_embeddings"] = True
    del draft.shapes["lm_head.weight"]
    [finding] = judge_draft(RULE, tmp_path, draft)
    assert finding.remedies[0].applicability == "unsafe"


@pytest.mark.parametrize(
    ("tied", "rows", "head", "outcome"),
    [
        (True, REDUCED, True, Outcome.CRASHES),
        (True, VOCABULARY, True, Outcome.DEGRADES),
        (True, VOCABULARY, False, None),
        (False, REDUCED, True, None),
        (None, REDUCED, True, None),
    ],
)
def test_flag_vocabulary_and_head(
    tmp_path: Path, tied: bool | None, rows: int, head: bool, outcome: Outcome | None
) -> None:
    draft = eagle3_specforge()
    draft.config.update(tie_word_embeddings=tied, draft_vocab_size=rows)
    draft.shapes["lm_head.weight"] = (rows, HIDDEN)
    if not head:
        del draft.shapes["lm_head.weight"]
    found = judge_draft(RULE, tmp_path, draft)
    assert [finding.outcome for finding in found] == ([outcome] if outcome else [])
