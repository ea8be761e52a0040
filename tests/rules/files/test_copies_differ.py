from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from launches import LLAMA_EAGLE3, bare_launch, change

from specpreflight.cli.hosts import with_copies
from specpreflight.models.finding import Finding, Outcome
from specpreflight.models.resolved import Resolved
from specpreflight.rules.files.copies_differ import RULE, differences


def judge(tmp_path: Path, **changes: Any) -> list[Finding]:
    one = bare_launch(tmp_path / "a")
    other = bare_launch(tmp_path / "b", draft=change(LLAMA_EAGLE3, **changes))
    launches = with_copies([one, replace(other, target=one.target)])
    assert list(RULE.check(launches[0], Resolved({}, ()))) == []
    return list(RULE.check(launches[1], Resolved({}, ())))


def test_one_host_was_fixed_and_the_other_not(tmp_path: Path) -> None:
    [finding] = judge(tmp_path, max_position_embeddings=262144)
    assert finding.outcome is Outcome.DEGRADES
    assert finding.message == (
        "`max_position_embeddings` of the draft is not the same on every host"
    )
    assert [value.value for value in finding.values] == [131072, 262144]
    assert finding.values[0].origin.path != finding.values[1].origin.path


def test_a_key_that_only_one_has(tmp_path: Path) -> None:
    [finding] = judge(tmp_path, sliding_window=4096)
    assert [value.value for value in finding.values] == [None, 4096]


def test_quiet_where_the_copies_are_the_same_or_alone(tmp_path: Path) -> None:
    assert judge(tmp_path) == []
    assert list(RULE.check(bare_launch(tmp_path / "c"), Resolved({}, ()))) == []


@pytest.mark.parametrize(
    ("one", "other", "pointers"),
    [
        ({"a": {"b": 1, "c": 2}}, {"a": {"b": 1, "c": 3}}, ["/a/c"]),
        ({"a": [1, 2]}, {"a": [1, 3]}, ["/a"]),
        ({"a": 1}, {"a": True}, ["/a"]),
        ({"a": 1, "b": 2}, {"b": 2, "a": 1}, []),
        ({"a": 1}, {"b": 1}, ["/a", "/b"]),
    ],
)
def test_differences(one: Any, other: Any, pointers: list[str]) -> None:
    assert list(differences(one, other)) == pointers
