"""What a survey gives back of what it was given, however much that is."""

from __future__ import annotations

from contextlib import closing
from importlib import import_module

import pytest

from specpreflight.models.pairing import Profile, Statement
from specpreflight.scanning.likeness import Likeness
from specpreflight.scanning.survey import Survey, Surveyed

MODULE = import_module("specpreflight.scanning.survey")
TARGET = Profile("target", 64, 100, 2, "llama")
DRAFT = Profile("draft", 64, 100, statements=(Statement("org/name", "its card"),))
ALIKE = Likeness(b"l", ("run_id",))


def rows(count: int) -> list[Surveyed]:
    return [
        Surveyed(f"t/{number}", f"/t/{number}", None, TARGET)
        if number % 3 == 0
        else Surveyed(f"t/{number}", f"/t/{number}", b"i%d" % number, DRAFT, ALIKE)
        for number in range(count)
    ]


@pytest.mark.parametrize("count", [0, 1, 3, 4, 5, 8, 9, 23])
def test_all_checkpoints_in_their_order(monkeypatch: pytest.MonkeyPatch, count: int) -> None:
    monkeypatch.setattr(MODULE, "_CHUNK", 4)
    with closing(Survey()) as found:
        given = rows(count)
        for one in given:
            found.add(one)
        assert found.checkpoints == count
        assert list(found) == given
        assert list(found.servable()) == given[::3]


def test_two_readers_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(MODULE, "_CHUNK", 4)
    with closing(Survey()) as found:
        given = rows(19)
        for one in given:
            found.add(one)
        assert [(one, other) for one, other in zip(found, found, strict=True)] == list(
            zip(given, given, strict=True)
        )


def test_targets_are_those_that_a_draft_may_mean() -> None:
    with closing(Survey()) as found:
        for one in (*rows(3), Surveyed("t/org--name", "/t/org--name", None, TARGET)):
            found.add(one)
        assert found.targets().named("org/name") == "t/org--name"
