"""`scan --fix`: all drafts of a tree in one run, each file whole whatever happens."""

from __future__ import annotations

import json
import os
import pty
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "kimi-k2.5-eagle3"
OPTIONS = ("--engine", "sglang@0.5.11", "--no-env", "--no-cache")
FLAGS = (
    "--",
    *("--speculative-algorithm", "EAGLE3"),
    *("--speculative-num-steps", "3"),
    *("--speculative-eagle-topk", "1"),
    *("--speculative-num-draft-tokens", "4"),
    "--trust-remote-code",
)
SHORT, LONG = 131072, 262144


def make_tree(place: Path, count: int, change: Callable[[int, bytes], bytes] | None = None) -> Path:
    """Put a target and `count` drafts with too short a context below `place`."""
    shutil.copytree(EXAMPLE / "target", place / "target")
    data = (EXAMPLE / "draft" / "config.json").read_bytes()
    for number in range(count):
        draft = place / "drafts" / f"draft-{number:03}"
        draft.mkdir(parents=True)
        (draft / "config.json").write_bytes(change(number, data) if change else data)
    return place


def lengths(place: Path) -> list[int]:
    configs = sorted(place.glob("drafts/*/config.json"))
    return [json.loads(path.read_bytes())["max_position_embeddings"] for path in configs]


@pytest.fixture
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return make_tree(tmp_path, 12)


def scan(run: Callable[..., Any], *words: str) -> Any:
    return run("scan", "drafts", "--target", "target", *OPTIONS, *words, *FLAGS)


def test_all_drafts_are_fixed_and_the_state_after_counts(
    run: Callable[..., Any], tree: Path
) -> None:
    before = scan(run)
    assert before.code == 1
    fixed = scan(run, "--fix")
    assert fixed.code == 0, fixed.stderr
    lines = fixed.stderr.splitlines()
    assert lines[0] == "fixed drafts/draft-000/config.json (draft-context-shorter)"
    assert lines[-1] == ("12 of 12 files fixed; `specpreflight undo DIRECTORY…` takes it back")
    assert len(lines) == 13
    assert "12 launches, 0 with errors" in fixed.stdout
    assert lengths(tree) == [LONG] * 12
    again = scan(run, "--fix")
    assert (again.code, again.stderr) == (0, "")


def test_the_diff_is_what_patch_takes(run: Callable[..., Any], tree: Path) -> None:
    shown = scan(run, "--diff")
    assert shown.code == 0
    assert lengths(tree) == [SHORT] * 12
    assert "draft-context-shorter" in shown.stderr
    subprocess.run(["patch", "-p0"], input=shown.stdout, text=True, check=True, capture_output=True)
    patched = [path.read_bytes() for path in sorted(tree.glob("drafts/*/config.json"))]
    assert lengths(tree) == [LONG] * 12
    for path in tree.glob("drafts/*/config.json"):
        shutil.copy(EXAMPLE / "draft" / "config.json", path)
    scan(run, "--fix")
    assert [path.read_bytes() for path in sorted(tree.glob("drafts/*/config.json"))] == patched


def test_drafts_alike_are_planned_once(
    run: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two layouts of the config, in turn: two plans, and every file keeps its own layout."""

    def change(number: int, data: bytes) -> bytes:
        return data.replace(b"\n", b"\r\n") if number % 2 else data

    monkeypatch.chdir(tmp_path)
    make_tree(tmp_path, 10, change)
    from specpreflight.cli import scan_fixing

    planned: list[int] = []
    real = scan_fixing.plan_for

    def counted(launches: Any, *rest: Any) -> Any:
        planned.append(len(launches))
        return real(launches, *rest)

    monkeypatch.setattr(scan_fixing, "plan_for", counted)
    assert scan(run, "--fix").code == 0
    assert planned == [1, 1]
    original = (EXAMPLE / "draft" / "config.json").read_bytes()
    wanted = original.replace(b"131072", b"262144")
    for number, path in enumerate(sorted(tmp_path.glob("drafts/*/config.json"))):
        assert path.read_bytes() == change(number, wanted)


def test_a_draft_of_two_engines_is_fixed_once(run: Callable[..., Any], tree: Path) -> None:
    fixed = scan(run, "--engine", "sglang@0.5.10", "--fix")
    assert fixed.stderr.splitlines()[-1].startswith("12 of 12 files fixed")
    assert lengths(tree) == [LONG] * 12


def test_what_cannot_be_written_stops_no_other(run: Callable[..., Any], tree: Path) -> None:
    (tree / "drafts" / "draft-003" / "config.json").chmod(0o444)
    fixed = scan(run, "--fix")
    assert fixed.code == 4
    assert "draft-003/config.json: not written: the file is read-only" in fixed.stderr
    assert "draft-003" in fixed.stdout
    assert lengths(tree).count(LONG) == 11


def test_a_rule_that_is_not_selected(run: Callable[..., Any], tree: Path) -> None:
    assert scan(run, "--fix", "--select-fix", "rope-theta-differs").code == 1
    assert lengths(tree) == [SHORT] * 12
    assert scan(run, "--fix", "--select-fix", "draft-context-shortr").code == 2


def test_a_file_that_changes_between_plan_and_write_is_left(
    run: Callable[..., Any], tree: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from specpreflight.cli import scan_fixing

    real = scan_fixing.write_plans
    draft = tree / "drafts" / "draft-005" / "config.json"

    def somebody_writes(*rest: Any) -> Any:
        draft.write_bytes(draft.read_bytes() + b"\n")
        return real(*rest)

    monkeypatch.setattr(scan_fixing, "write_plans", somebody_writes)
    fixed = scan(run, "--fix")
    assert fixed.code == 4
    assert "draft-005/config.json: not written: the file changed since it was read" in fixed.stderr
    assert lengths(tree).count(LONG) == 11


def test_ctrl_c_in_the_middle(tmp_path: Path) -> None:
    """A real process on a real terminal gets a real signal after the third file."""
    make_tree(tmp_path, 400)
    terminal, its_end = pty.openpty()
    with (tmp_path / "stdout").open("wb") as stdout:
        process = subprocess.Popen(
            [
                *(sys.executable, "-m", "specpreflight", "scan", "drafts", "--target", "target"),
                *(*OPTIONS, "--fix", *FLAGS),
            ],
            cwd=tmp_path,
            stdout=stdout,
            stderr=its_end,
        )
    os.close(its_end)
    shown = b""
    while True:
        try:
            piece = os.read(terminal, 65536)
        except OSError:  # Linux says so when the other end is closed
            break
        if not piece:
            break
        before = shown.count(b"fixed drafts/")
        shown += piece
        if before < 3 <= shown.count(b"fixed drafts/"):
            process.send_signal(signal.SIGINT)
    os.close(terminal)
    assert process.wait() == 130
    assert (tmp_path / "stdout").read_bytes() == b""
    lines = shown.decode().replace("\x1b[K", "").replace("\r", "\n").splitlines()
    finished = {line.split()[1] for line in lines if line.startswith("fixed ")}
    untouched = {line.split()[2] for line in lines if line.startswith("not fixed: ")}
    assert len(finished) >= 3
    assert untouched
    for path in tmp_path.glob("drafts/*/config.json"):
        name = str(path.relative_to(tmp_path))
        value = json.loads(path.read_bytes())["max_position_embeddings"]
        assert (value == LONG, name in finished, name in untouched) in {
            (True, True, False),
            (False, False, True),
        }
        assert (path.parent / ".specpreflight").exists() == (value == LONG)
    assert "3 of 400 files" in lines
    assert "Traceback" not in shown.decode()


def test_ctrl_c_before_anything_is_written(
    run: Callable[..., Any], tree: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from specpreflight.cli import scan_fixing

    def interrupted(*_: Any) -> None:
        signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr(scan_fixing, "plan_for", interrupted)
    ran = scan(run, "--fix")
    assert (ran.code, ran.stderr) == (130, "specpreflight: interrupted\n")
    assert lengths(tree) == [SHORT] * 12


def test_the_draft_that_a_launch_file_names(
    run: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    make_tree(tmp_path, 2)
    (tmp_path / "launch.sh").write_text(
        "python -m sglang.launch_server --model-path target "
        f"--speculative-draft-model-path drafts/draft-000 {' '.join(FLAGS[1:])}\n"
    )
    fixed = run("scan", ".", "--target", "target", *OPTIONS, "--fix", *FLAGS)
    assert fixed.code == 0, fixed.stdout
    assert fixed.stderr.splitlines()[-1].startswith("2 of 2 files fixed")
    assert lengths(tmp_path) == [LONG] * 2


def test_what_a_fix_would_break_is_refused_for_each(
    run: Callable[..., Any], tree: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from specpreflight.cli import scan_fixing
    from specpreflight.fixes.recheck import FixRefused

    def refuse(*_: Any) -> None:
        raise FixRefused("not written: the fix of a-rule would bring another-rule: worse")

    monkeypatch.setattr(scan_fixing, "plan_for", refuse)
    ran = scan(run, "--fix")
    assert ran.code == 1
    untouched = [line for line in ran.stderr.splitlines() if line.startswith("not fixed: ")]
    assert untouched[-1] == "not fixed: drafts/draft-011/config.json"
    assert len(untouched) == 12
    assert lengths(tree) == [SHORT] * 12
