"""A generated tree with a known answer: exactly the seeded faults are found, by every means."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from make_tree import Made, make_tree

from specpreflight.scanning import runner
from specpreflight.scanning.checking import Checked, Job


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
    answer = make_tree(root, 24, 2, differ="values")
    first = run("scan", root, "--no-env", "--format", "json-lines")
    kept = [path for path in (tmp_path / "cache").rglob("*") if path.is_file()]
    second = run("scan", root, "--no-env", "--format", "json-lines")
    assert first == second
    assert found_in(root, second.stdout) == sorted(answer)
    assert len(kept) == len(answer)


def test_a_scan_of_which_a_worker_is_killed(
    run: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One draft's check ends every process it runs in, another one's only the first."""
    answer = make_tree(tmp_path / "tree", 30, 2, differ="values", faults=0)
    deadly, unlucky = (str(tmp_path / "tree" / one.draft) for one in answer[-5:-3])
    words = ("scan", tmp_path / "tree", "--no-env", "--no-cache", "--format", "json-lines")
    expected = run(*words, "--jobs", "1")
    check = runner.run_job

    def check_or_die(job: Job, **given: Any) -> Checked:
        path = job.draft.path if job.draft is not None else ""
        if path == deadly:
            os.kill(os.getpid(), signal.SIGKILL)
        if path == unlucky and not (tmp_path / "died").exists():
            (tmp_path / "died").touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return check(job, **given)

    monkeypatch.setattr(runner, "ALONE", 0)
    monkeypatch.setattr(runner, "run_job", check_or_die)
    ran = run(*words, "--jobs", "2")
    lines = expected.stdout.splitlines()
    assert (tmp_path / "died").exists()
    assert ran.stdout.splitlines() == [line for line in lines if f'"draft": "{deadly}"' not in line]
    assert len(ran.stdout.splitlines()) == len(lines) - 1
    text = run(*words[:-2], "--jobs", "2")
    assert ", 1 not checked" in text.stdout.splitlines()[-1]
    assert ran.code == 3
    target = tmp_path / "tree" / str(answer[-5].target)
    assert [line for line in ran.stderr.splitlines() if "internal error" in line] == [
        f"specpreflight: internal error: {deadly} for {target}: WorkerError: "
        "the process that checked it was ended by signal 9, 3 times (out of memory?)"
    ]
