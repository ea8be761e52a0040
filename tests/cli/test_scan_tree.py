"""A generated tree with a known answer: exactly the seeded faults are found, by every means."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from make_tree import Made, make_tree


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


def found_in(root: Path, lines: str) -> list[Made]:
    """Return what a scan's JSON lines say of each draft, in the form of the answer."""
    start = f"{root}/"
    found = []
    for line in lines.splitlines():
        report = json.loads(line)
        inputs = report["inputs"]
        rules = {one["rule"] for one in report["findings"] if one["severity"] != "note"}
        if inputs["draft"] is not None:
            target = inputs["target"] and inputs["target"].removeprefix(start)
            found.append(Made(inputs["draft"].removeprefix(start), target, tuple(sorted(rules))))
        else:
            assert not rules
    return sorted(found)


@pytest.mark.parametrize("options", [("--jobs", "1"), ("--jobs", "2"), ("--no-cache",)])
def test_exactly_the_seeded_faults(
    run: Callable[..., Any], tmp_path: Path, options: Sequence[str]
) -> None:
    root = tmp_path / "tree"
    answer = make_tree(root, 180, 6)
    ran = run("scan", root, "--no-env", "--format", "json-lines", *options)
    assert ran.code == 4, ran.stderr
    assert found_in(root, ran.stdout) == sorted(answer)
    assert len({one.rules for one in answer}) == 7


def test_a_second_scan_says_the_same(run: Callable[..., Any], tmp_path: Path) -> None:
    root = tmp_path / "tree"
    answer = make_tree(root, 24, 2, different=True)
    first = run("scan", root, "--no-env", "--format", "json-lines")
    kept = [path for path in (tmp_path / "cache").rglob("*") if path.is_file()]
    second = run("scan", root, "--no-env", "--format", "json-lines")
    assert first == second
    assert found_in(root, second.stdout) == sorted(answer)
    assert len(kept) == len(answer)
