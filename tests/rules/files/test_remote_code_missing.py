from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from weight_launches import judge_twin

from specpreflight.models.finding import Outcome

RULE = "remote-code-missing"


@pytest.mark.parametrize(
    ("flags", "outcome"),
    [({"trust-remote-code": "true"}, Outcome.REFUSES), ({}, Outcome.STARTS)],
)
def test_only_trusted_code_is_imported(
    tmp_path: Path, flags: dict[str, str], outcome: Outcome
) -> None:
    [finding] = judge_twin(RULE, tmp_path, flags=flags)
    assert finding.outcome is outcome
    assert "configuration_draft.py" in finding.message


@pytest.mark.parametrize(
    ("auto_map", "count"),
    [
        ({"AutoConfig": "org/name--configuration_draft.DraftConfig"}, 0),
        ({"AutoTokenizer": ["slow.Tokenizer", None]}, 1),
        ({"AutoConfig": 3}, 0),
        ("configuration.py", 0),
    ],
)
def test_which_entries_name_a_file_here(tmp_path: Path, auto_map: Any, count: int) -> None:
    def state(draft, target) -> None:
        draft.config["auto_map"] = auto_map

    assert len(judge_twin(RULE, tmp_path, change=state)) == count


def test_quiet_with_the_file(tmp_path: Path) -> None:
    def add(draft: Path, target: Path) -> None:
        (draft / "configuration_draft.py").write_text("")

    assert judge_twin(RULE, tmp_path, damage=add) == []
