"""A bundle gives each release exactly its own definitions."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from specpreflight.engines.source.bundle import (
    BundledSources,
    merge_runs,
    nearest_release,
    write_module,
)
from specpreflight.engines.source.evaluator import Evaluator


@pytest.fixture
def bundle(tmp_path: Path) -> Path:
    (tmp_path / "releases.json").write_text(json.dumps({"p": ["1", "2", "3"]}))
    texts = {
        "1": {"f": "def f():\n    return 1", "g": "def g():\n    return 'kept'"},
        "2": {"f": "def f():\n    return 2", "g": "def g():\n    return 'kept'"},
        "3": {"g": "def g():\n    return 'kept'"},
    }
    write_module(tmp_path, "p.m", texts)
    return tmp_path


@pytest.mark.parametrize(("release", "value"), [("1", 1), ("2", 2)])
def test_each_release_has_its_own_text(bundle: Path, release: str, value: int) -> None:
    evaluator = Evaluator(BundledSources(bundle, {"p": release}), {})
    assert evaluator.call(evaluator.find("p.m.f"), [], {}) == value
    assert evaluator.call(evaluator.find("p.m.g"), [], {}) == "kept"


def test_a_definition_that_is_gone_is_unknown(bundle: Path) -> None:
    module = BundledSources(bundle, {"p": "3"}).module("p.m")
    assert module is not None
    assert set(module.definitions) == {"g"}


def test_a_text_is_stored_once_for_all_its_releases(bundle: Path) -> None:
    table = json.loads((bundle / "p.m.json").read_text())
    assert table["g"] == [["1", None, "def g():\n    return 'kept'"]]
    assert [run[:2] for run in table["f"]] == [["1", "2"], ["2", "3"]]


@pytest.mark.parametrize(
    ("texts", "runs"),
    [
        ([("1", "a"), ("2", "a")], [("1", None, "a")]),
        ([("1", None), ("2", "a"), ("3", None)], [("2", "3", "a")]),
        ([("1", "a"), ("2", None), ("3", "a")], [("1", "2", "a"), ("3", None, "a")]),
        (
            [("1", "a"), ("2", "b"), ("3", "a")],
            [("1", "2", "a"), ("2", "3", "b"), ("3", None, "a")],
        ),
        ([], []),
    ],
)
def test_runs(texts: list[tuple[str, str | None]], runs: list[tuple[str, str | None, str]]) -> None:
    assert merge_runs(texts) == runs


@pytest.mark.parametrize(
    ("wanted", "found"), [("2", "2"), ("2.5", "2"), ("9", "3"), ("0.1", "1"), (None, "3")]
)
def test_nearest_release(bundle: Path, wanted: str | None, found: str) -> None:
    assert nearest_release(bundle, "p", wanted) == found
