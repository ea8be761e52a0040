"""Reports of earlier scans: found again, never mistaken, never harmful."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest
from make_tree import make_tree

from specpreflight.api import identify_engine
from specpreflight.conditions import Conditions
from specpreflight.models.finding import Origin
from specpreflight.models.launch import Hardware, Variable
from specpreflight.scanning.checking import Checked, Job, JobSide, run_job
from specpreflight.scanning.runner import JobKey
from specpreflight.scanning.store import Store, open_store, prune

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "kimi-k2.5-eagle3"
CONDITIONS = Conditions(identify_engine("sglang@0.5.11"))
KEY = JobKey(0, b"t", b"d", ("t", "d"), False, False, True)


@pytest.fixture(scope="module")
def checked() -> Checked:
    sides = (JobSide(str(EXAMPLE / role), f"/slot/{role}") for role in ("target", "draft"))
    return run_job(Job(0, *sides), [CONDITIONS])


def test_what_is_put_is_found(tmp_path: Path, checked: Checked) -> None:
    Store(tmp_path, [CONDITIONS]).put(KEY, checked)
    assert Store(tmp_path, [CONDITIONS]).get(KEY) == checked


def test_anything_else_is_not_found(tmp_path: Path, checked: Checked) -> None:
    Store(tmp_path, [CONDITIONS]).put(KEY, checked)
    other = replace(CONDITIONS, engine=identify_engine("sglang@0.5.9"))
    variable = Variable("SGLANG_X", "1", Origin("environment", name="SGLANG_X"))
    for conditions in (
        other,
        replace(CONDITIONS, words=("--tp", "2")),
        replace(CONDITIONS, environment={"SGLANG_X": variable}),
    ):
        assert Store(tmp_path, [conditions]).get(KEY) is None
    for key in (KEY._replace(target=b"u"), KEY._replace(draft=None), KEY._replace(inferred=True)):
        assert Store(tmp_path, [CONDITIONS]).get(key) is None


def test_a_variable_of_the_session_is_of_no_account(tmp_path: Path, checked: Checked) -> None:
    session = Variable("PWD", "/a", Origin("environment", name="PWD"))
    Store(tmp_path, [CONDITIONS]).put(KEY, checked)
    assert Store(tmp_path, [replace(CONDITIONS, environment={"PWD": session})]).get(KEY) == checked


@pytest.mark.parametrize("data", [b"", b"no pickle", pickle.dumps(3), pickle.dumps(os.system)])
def test_what_is_no_report_is_not_taken(tmp_path: Path, checked: Checked, data: bytes) -> None:
    store = Store(tmp_path, [CONDITIONS])
    store.put(KEY, checked)
    [entry] = [path for path in tmp_path.rglob("*") if path.is_file()]
    entry.write_bytes(data)
    assert store.get(KEY) is None


def test_a_cache_that_cannot_be_written_is_no_failure(tmp_path: Path, checked: Checked) -> None:
    (tmp_path / "file").write_text("")
    Store(tmp_path / "file", [CONDITIONS]).put(KEY, checked)


def test_what_depends_on_more_than_its_key_is_not_kept() -> None:
    nccl = Variable("NCCL_ALGO", "Ring", Origin("environment", name="NCCL_ALGO"))
    assert open_store([CONDITIONS]) is not None
    for conditions in (
        replace(CONDITIONS, hardware=Hardware(gpus=8)),
        replace(CONDITIONS, environment={"NCCL_ALGO": nccl}),
        replace(CONDITIONS, words=("--speculative-token-map", "/maps/a.pt")),
        replace(CONDITIONS, engine=replace(CONDITIONS.engine, path="/opt/sglang")),
    ):
        assert open_store([conditions]) is None


def test_two_scans_at_once(tmp_path: Path) -> None:
    make_tree(tmp_path / "tree", 12, 2, differ="values")
    command = (
        sys.executable, "-c", "from specpreflight.cli import main; main()", "scan", "tree",
        "--no-env", "--format", "json-lines",
    )  # fmt: skip
    environment = {**os.environ, "XDG_CACHE_HOME": str(tmp_path / "cache")}
    both = [
        subprocess.Popen(command, cwd=tmp_path, env=environment, stdout=subprocess.PIPE)
        for _ in range(2)
    ]
    first, second = (process.communicate()[0] for process in both)
    assert first == second
    assert first.count(b"\n") == 10
    assert len(entries_of(tmp_path / "cache" / "specpreflight" / "scan")) == 10


DAY = 86_400


def entries_of(folder: Path) -> list[Path]:
    return sorted(path for path in folder.glob("??/*"))


def age(path: Path, days: float) -> None:
    moment = time.time() - days * DAY
    os.utime(path, (moment, moment))


@pytest.fixture
def kept(tmp_path: Path, checked: Checked, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache with three entries, and the folder of the user's store."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    folder = tmp_path / "specpreflight" / "scan"
    for target in (b"a", b"b", b"c"):
        Store(folder, [CONDITIONS]).put(KEY._replace(target=target), checked)
    return folder


def test_what_was_not_used_for_a_month_is_removed(kept: Path) -> None:
    first, second, third = entries_of(kept)
    age(first, 30.1)
    age(second, 29.9)
    age(third, -400)  # of a clock that was wrong
    prune(kept)
    assert entries_of(kept) == [second, third]


def test_it_is_looked_for_once_a_day(kept: Path) -> None:
    open_store([CONDITIONS])
    first, second, third = entries_of(kept)
    age(first, 31)
    age(kept / "pruned", 0.9)
    open_store([CONDITIONS])
    assert entries_of(kept) == [first, second, third]
    age(kept / "pruned", 1.1)
    open_store([CONDITIONS])
    assert entries_of(kept) == [second, third]
    age(second, 31)
    open_store([CONDITIONS])
    assert entries_of(kept) == [second, third]
    age(kept / "pruned", -400)
    open_store([CONDITIONS])
    assert entries_of(kept) == [third]


def test_a_use_is_noted_once_a_day(kept: Path, checked: Checked) -> None:
    store = Store(kept, [CONDITIONS])
    key = KEY._replace(target=b"b")
    entry = store._path(key)
    for days, noted in ((29, 0), (1.1, 0), (0.9, 0.9)):
        age(entry, days)
        assert store.get(key) == checked
        assert time.time() - entry.stat().st_mtime == pytest.approx(noted * DAY, abs=600)


def test_scratch_files_of_scans_that_were_killed_are_removed(kept: Path) -> None:
    [shelf, *_] = kept.glob("??")
    scratch = shelf / "tmp12345678"
    scratch.write_bytes(b"half a report")
    prune(kept)
    assert scratch.exists()
    age(scratch, 31)
    (kept / "pruned").unlink()
    prune(kept)
    assert not scratch.exists()


def test_nothing_else_is_removed(kept: Path, tmp_path: Path) -> None:
    [shelf, *_] = kept.glob("??")
    others = [kept / "notes", tmp_path / "specpreflight" / "other", shelf / "folder"]
    others[2].mkdir()
    (shelf / "link").symlink_to(others[0])
    others[0].touch()
    others[1].touch()
    for path in others:
        age(path, 365)
    prune(kept)
    assert all(path.exists() for path in (*others, shelf / "link"))


def test_a_cache_that_cannot_be_pruned_is_no_failure(
    kept: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for entry in entries_of(kept):
        age(entry, 31)

    def refuse(*_: object, **__: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "unlink", refuse)
    assert open_store([CONDITIONS]) is not None
    monkeypatch.setattr(Path, "touch", refuse)
    age(kept / "pruned", 2)
    assert open_store([CONDITIONS]) is not None
    assert len(entries_of(kept)) == 3
    prune(kept / "nothing")


def test_an_entry_that_another_scan_removes_first(
    kept: Path, checked: Checked, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two scans prune at once: each removes what the other has not."""
    entries = entries_of(kept)
    for entry in entries:
        age(entry, 31)
    lstat = Path.lstat

    def lstat_after_the_other(path: Path) -> os.stat_result:
        found = lstat(path)
        if path == entries[1]:
            path.unlink()
        return found

    monkeypatch.setattr(Path, "lstat", lstat_after_the_other)
    prune(kept)
    assert entries_of(kept) == []
