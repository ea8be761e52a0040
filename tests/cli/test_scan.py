"""`specpreflight scan`: what is found in a tree, how it is paired, and what the exit code says."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "kimi-k2.5-eagle3"


@pytest.fixture(autouse=True)
def cache(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path_factory.mktemp("cache")
    monkeypatch.setenv("XDG_CACHE_HOME", str(folder))
    return folder


@pytest.fixture
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The target of the incident, and the draft as two epochs of one training run."""
    shutil.copytree(EXAMPLE / "target", tmp_path / "target")
    for epoch in ("epoch_1", "epoch_2"):
        shutil.copytree(EXAMPLE / "draft", tmp_path / "run" / epoch)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def edit_config(path: Path, **changes: Any) -> None:
    config = json.loads((path / "config.json").read_text())
    (path / "config.json").write_text(json.dumps({**config, **changes}, indent=2))


def pairs_of(data: Any) -> list[tuple[str | None, str | None]]:
    reports = data.get("reports", [data])
    return [(one["inputs"]["target"], one["inputs"]["draft"]) for one in reports]


def test_equal_facts_pair_a_draft(run: Callable[..., Any], tree: Path) -> None:
    ran = run("scan", ".", "--no-env", "--format", "json")
    assert ran.code == 1
    assert pairs_of(ran.data) == [("./target", "./run/epoch_1"), ("./target", "./run/epoch_2")]


def test_the_newest_of_a_series(run: Callable[..., Any], tree: Path) -> None:
    ran = run("scan", "run", "--latest", "--target", "target", "--no-env", "--format", "json")
    assert pairs_of(ran.data) == [("target", "run/epoch_2")]


def test_a_draft_without_target_is_listed(run: Callable[..., Any], tree: Path) -> None:
    ran = run("scan", "run/epoch_1", "--no-env")
    assert ran.code == 0
    assert "1 draft without a target:\n  run/epoch_1: " in ran.stdout


def test_an_unreadable_config_leaves_the_others(run: Callable[..., Any], tree: Path) -> None:
    (tree / "run" / "epoch_1" / "config.json").write_text('{"model_type": ')
    ran = run("scan", "run", "--target", "target", "--no-env", "--format", "json")
    assert ran.code == 4
    assert [one["verdict"]["outcome"] for one in ran.data["reports"]] == ["refuses", "crashes"]
