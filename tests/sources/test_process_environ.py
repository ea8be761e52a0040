"""The environment of a running process."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from processes import running_process

from specpreflight.errors import InputError, UsageError
from specpreflight.sources.process_environ import read_process_environ

needs_proc = pytest.mark.skipif(not Path("/proc/self/environ").exists(), reason="no /proc here")


@needs_proc
def test_a_running_process() -> None:
    environment = {"NCCL_PROTO": "LL", "ODD": "a=b\nc", "EMPTY": ""}
    with running_process(environment) as process:
        try:
            read = read_process_environ(process.pid)
        finally:
            process.kill()
    assert {name: known.value for name, known in read.items()} == environment
    assert read["NCCL_PROTO"].origin.path == f"/proc/{process.pid}/environ"


@needs_proc
def test_a_process_that_is_gone() -> None:
    with subprocess.Popen([sys.executable, "-c", ""]) as process:
        process.wait()
    with pytest.raises(InputError, match="no such process"):
        read_process_environ(process.pid)


@pytest.mark.skipif(os.getuid() == 0, reason="root may read all")
def test_a_process_of_another_user() -> None:
    with pytest.raises(InputError, match="belongs to another user"):
        read_process_environ(1)


def test_a_file_that_may_not_be_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*args: object) -> object:
        raise PermissionError

    monkeypatch.setattr(Path, "open", refuse)
    with pytest.raises(InputError, match="belongs to another user"):
        read_process_environ(1, tmp_path)


def test_what_is_no_process() -> None:
    with pytest.raises(UsageError):
        read_process_environ(-1)


def test_bytes_that_are_no_text(tmp_path: Path) -> None:
    folder = tmp_path / "7"
    folder.mkdir()
    (folder / "environ").write_bytes(b"A=\xff\0broken\0=x\0B=1\0")
    read = read_process_environ(7, tmp_path)
    assert {name: known.value for name, known in read.items()} == {"A": "\udcff", "B": "1"}
