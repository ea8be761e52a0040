"""Sources of variables that cannot be read: one line, exit 4, and no more memory than they need."""

from __future__ import annotations

import os
import subprocess
import sys
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Run = Callable[..., Any]

_LINKS = "".join(
    f"{name}: &{name} [{','.join([f'*{before}'] * 9)}]\n"
    for before, name in zip("abcdefgh", "bcdefghi", strict=True)
)
BOMB = f"a: &a [x,x,x,x,x,x,x,x,x]\n{_LINKS}services:\n  x: {{image: i, environment: *i}}\n"


def make(path: Path, kind: str) -> Path:
    if kind == "directory":
        path.mkdir()
    elif kind == "50 MB":
        with path.open("wb") as file:
            file.truncate(50 << 20)
    else:
        contents = {
            "binary": bytes(range(256)) * 8,
            "NUL": b"NCCL_ALGO=Ring\n\0\n",
            "YAML bomb": BOMB.encode(),
            "deep YAML": b"services: " + b"[" * 800 + b"]" * 800,
            "latin-1": "NCCL_ALGO=Ring # für\n".encode("latin-1"),
        }
        if kind in contents:
            path.write_bytes(contents[kind])
    return path


KINDS = ("directory", "50 MB", "binary", "NUL", "latin-1", "missing")


def refused(ran: Any, name: str) -> None:
    assert ran.code == 4
    assert ran.stdout == ""
    lines = ran.stderr.splitlines()
    assert lines[0].startswith("specpreflight: ")
    assert name in lines[0]
    assert len(lines) <= 2


@pytest.mark.parametrize("kind", [*KINDS, "YAML bomb", "deep YAML"])
def test_a_file_that_sets_variables(run: Run, tmp_path: Path, kind: str) -> None:
    refused(run("env", "show", "--no-env", make(tmp_path / "compose.yaml", kind)), "compose.yaml")


@pytest.mark.parametrize("kind", ["50 MB", "YAML bomb"])
def test_a_file_that_grows_takes_no_more_memory_than_its_limit(
    run: Run, tmp_path: Path, kind: str
) -> None:
    path = make(tmp_path / "compose.yaml", kind)
    tracemalloc.start()
    try:
        run("env", "show", "--no-env", path)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 64 << 20


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("words", [("env", "show"), ("run",)], ids=["show", "run"])
@pytest.mark.parametrize("dialect", ["", "docker:"])
def test_an_env_file(run: Run, tmp_path: Path, kind: str, words: Any, dialect: str) -> None:
    path = make(tmp_path / "nccl.env", kind)
    command = ("--", "python", "-m", "sglang.launch_server") if words == ("run",) else ()
    refused(run(*words, "--env-file", f"{dialect}{path}", *command), "nccl.env")


@pytest.mark.parametrize("kind", ["directory", "50 MB"])
def test_an_nccl_conf(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str) -> None:
    monkeypatch.setenv("NCCL_CONF_FILE", str(make(tmp_path / "my.conf", kind)))
    refused(run("env", "show", "--nccl", "2.27.5"), "my.conf")


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("option", ["snapshot", "hardware"])
def test_snapshots_and_listings(run: Run, tmp_path: Path, kind: str, option: str) -> None:
    path = make(tmp_path / "listing.txt", kind)
    if option == "hardware":
        ran = run("env", "show", "--no-env", "--hardware", path)
        if kind == "missing":
            assert ran.code in (2, 4)
            return
        refused(ran, "listing.txt")
    elif kind != "directory":
        refused(run("env", "compare", path, path), "listing.txt")


@pytest.mark.skipif(not Path("/proc/self/environ").exists(), reason="no /proc here")
def test_a_process_that_is_gone_or_of_somebody_else(run: Run) -> None:
    with subprocess.Popen([sys.executable, "-c", ""]) as process:
        process.wait()
    refused(run("env", "show", "--pid", str(process.pid)), str(process.pid))
    if os.getuid() != 0:
        refused(run("env", "show", "--pid", "1"), "belongs to another user")


@pytest.mark.parametrize("text", ["x", "1", "[a]", "services: x", "services: [a]", "--- []"])
def test_a_compose_file_without_services(
    run: Callable[..., Any], tmp_path: Path, text: str
) -> None:
    file = tmp_path / "compose.yaml"
    file.write_text(text)
    ran = run("env", "write", "--to", "compose", "--no-env", "--env", "NCCL_ALGO=Ring", file)
    assert ran.code in (2, 4)
    assert ran.stderr.startswith("specpreflight: ")
    assert file.read_text() == text
