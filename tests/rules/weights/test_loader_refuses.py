from __future__ import annotations

from pathlib import Path

import pytest
from make_checkpoints import Draft, eagle3_specforge, llama_target
from weight_launches import judge_draft, judge_twin

from specpreflight.models.finding import Outcome

RULE = "loader-refuses"


def without_draft_vocabulary() -> Draft:
    draft = eagle3_specforge()
    del draft.config["draft_vocab_size"]
    return draft


def test_a_name_that_a_strict_class_does_not_know(tmp_path: Path) -> None:
    [finding] = judge_twin(RULE, tmp_path)
    assert finding.outcome is Outcome.CRASHES
    assert finding.engine_message == "KeyError: 'model.layers.1.input_layernorm.weight'"


def test_draft_vocab_size_must_be_there(tmp_path: Path) -> None:
    [finding] = judge_draft(RULE, tmp_path, without_draft_vocabulary())
    assert "has no attribute 'draft_vocab_size'" in str(finding.engine_message)


@pytest.mark.parametrize(("release", "count"), [("0.5.11", 1), ("0.5.12", 0)])
def test_two_layers_by_release(tmp_path: Path, release: str, count: int) -> None:
    draft = eagle3_specforge()
    draft.config["num_hidden_layers"] = 2
    assert len(judge_draft(RULE, tmp_path, draft, release)) == count


def test_a_class_that_the_release_lacks(tmp_path: Path) -> None:
    draft = llama_target()
    draft.config["architectures"] = ["EagleModel"]
    [finding] = judge_draft(RULE, tmp_path, draft)
    assert "Cannot find model module. 'EagleModel'" in str(finding.engine_message)
