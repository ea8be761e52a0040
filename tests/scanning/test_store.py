"""Reports of earlier scans: found again, never mistaken, never harmful."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
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
from specpreflight.scanning.store import Store, open_store

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
    make_tree(tmp_path / "tree", 12, 2, different=True)
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
    kept = [path.name for path in (tmp_path / "cache").rglob("*") if path.is_file()]
    assert len(kept) == 10
