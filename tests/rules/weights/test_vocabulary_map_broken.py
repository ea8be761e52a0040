from __future__ import annotations

import struct
from pathlib import Path

import pytest
from make_checkpoints import REDUCED, VOCABULARY, Draft, eagle3_specforge
from weight_launches import judge_draft, judge_twin

from specpreflight.models.finding import Outcome

RULE = "vocabulary-map-broken"


def with_map(offsets: list[int]) -> Draft:
    draft = eagle3_specforge()
    draft.shapes["d2t"] = (len(offsets),)
    draft.data["d2t"] = struct.pack(f"<{len(offsets)}q", *offsets)
    return draft


def test_ids_outside_the_vocabulary(tmp_path: Path) -> None:
    [finding] = judge_twin(RULE, tmp_path)
    assert finding.message == "draft id 0 maps to 256, the vocabulary ends at 255"


@pytest.mark.parametrize(
    ("last", "count"), [(VOCABULARY - REDUCED, 0), (VOCABULARY - REDUCED + 1, 1)]
)
def test_the_last_id(tmp_path: Path, last: int, count: int) -> None:
    assert len(judge_draft(RULE, tmp_path, with_map([0] * (REDUCED - 1) + [last]))) == count


def test_target_ids_in_place_of_offsets(tmp_path: Path) -> None:
    [finding] = judge_draft(RULE, tmp_path, with_map([n // 2 * 2 - n for n in range(REDUCED)]))
    assert finding.outcome is Outcome.ACCEPTS_NOTHING


@pytest.mark.parametrize(
    ("length", "outcome"),
    [(REDUCED - 1, Outcome.CRASHES), (REDUCED, None), (REDUCED + 1, Outcome.DEGRADES)],
)
def test_length_against_the_head(tmp_path: Path, length: int, outcome: Outcome | None) -> None:
    found = judge_draft(RULE, tmp_path, with_map([0] * length))
    assert [finding.outcome for finding in found] == ([outcome] if outcome else [])


def test_a_column_vector_becomes_a_matrix(tmp_path: Path) -> None:
    draft = eagle3_specforge()
    draft.shapes["d2t"] = (REDUCED, 1)
    [finding] = judge_draft(RULE, tmp_path, draft)
    assert "2 dimensions" in finding.message


def test_a_float_map(tmp_path: Path) -> None:
    draft = eagle3_specforge()
    draft.dtypes["d2t"] = "float32"
    [finding] = judge_draft(RULE, tmp_path, draft)
    assert "F32" in finding.message
