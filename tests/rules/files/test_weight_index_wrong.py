from __future__ import annotations

import json
from pathlib import Path

import pytest
from weight_launches import judge_twin

from specpreflight.models.finding import Outcome

RULE = "weight-index-wrong"
INDEX = "model.safetensors.index.json"


def rewrite(**places: str | None):
    def damage(draft: Path, target: Path) -> None:
        index = json.loads((draft / INDEX).read_text())
        for name, file in places.items():
            index["weight_map"][name] = file
        index["weight_map"] = {n: f for n, f in index["weight_map"].items() if f is not None}
        (draft / INDEX).write_text(json.dumps(index))

    return damage


def test_a_tensor_that_is_not_listed_is_still_read(tmp_path: Path) -> None:
    [finding] = judge_twin(RULE, tmp_path)
    assert finding.outcome is Outcome.STARTS
    assert "norm.weight" in finding.message


@pytest.mark.parametrize(
    ("places", "says"),
    [
        ({"gone": "model.safetensors"}, "listed and in no file"),
        ({"d2t": "model-2.safetensors"}, "in another file"),
    ],
)
def test_listed_elsewhere_or_in_no_file(tmp_path: Path, places: dict[str, str], says: str) -> None:
    found = judge_twin(RULE, tmp_path, damage=rewrite(**places))
    assert any(says in finding.message for finding in found)


def test_an_index_that_is_not_json(tmp_path: Path) -> None:
    def spoil(draft: Path, target: Path) -> None:
        (draft / INDEX).write_text("{")

    [finding] = judge_twin(RULE, tmp_path, damage=spoil)
    assert finding.outcome is Outcome.CRASHES
