"""`env write`: into each kind of file, in one step, or not at all."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable
from pathlib import Path

import pytest

from specpreflight.errors import InputError
from specpreflight.fixes.environment_file import TARGETS
from specpreflight.fixes.text_write import write_text_file
from specpreflight.sources.kept_variables import read_kept_variables

STORY = {
    "NCCL_PROTO": "LL",
    "NCCL_ALGO": "Ring",
    "NCCL_P2P_LEVEL": "SYS",
    "NCCL_MAX_NCHANNELS": "16",
    "NCCL_BUFFSIZE": "16777216",
    "NCCL_NTHREADS": "512",
}
Run = Callable[..., "object"]


@pytest.fixture(autouse=True)
def clean(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in list(os.environ):
        if name.startswith("NCCL_"):
            monkeypatch.delenv(name)
    for name, value in STORY.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("HOME", str(tmp_path))


@pytest.mark.parametrize("target", TARGETS)
def test_the_story_is_kept(run: Run, tmp_path: Path, target: str) -> None:
    path = tmp_path / "kept"
    ran = run("env", "write", "--to", target, path)
    assert ran.code == 0, ran.stderr
    assert "6 variables in" in ran.stderr
    assert read_kept_variables(path.read_text(), target, "server") == STORY
    assert not list(tmp_path.glob(".*tmp*"))
    again = run("env", "write", "--to", target, path)
    assert "nothing to write" in again.stderr


@pytest.mark.parametrize("target", TARGETS)
def test_stdout_without_a_file(run: Run, target: str) -> None:
    ran = run("env", "write", "--to", target)
    assert read_kept_variables(ran.stdout, target, "server") == STORY


def test_a_difference_writes_nothing(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "x.env"
    path.write_text("FOO=bar\nNCCL_PROTO=Simple\n")
    ran = run("env", "write", "--to", "docker", path, "--diff")
    assert ran.code == 0
    assert "-NCCL_PROTO=Simple\n+NCCL_PROTO=LL" in ran.stdout
    assert path.read_text() == "FOO=bar\nNCCL_PROTO=Simple\n"


def test_mode_and_links_stay(run: Run, tmp_path: Path) -> None:
    real, link = tmp_path / "real.env", tmp_path / "link.env"
    real.write_text("FOO=bar\n")
    real.chmod(0o640)
    link.symlink_to(real)
    assert run("env", "write", "--to", "docker", link).code == 0
    assert link.is_symlink()
    assert stat.S_IMODE(real.stat().st_mode) == 0o640
    assert real.read_text().startswith("FOO=bar\nNCCL_")


def test_line_ends_and_byte_order_mark_stay(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "x.env"
    path.write_bytes(b"\xef\xbb\xbfFOO=bar\r\nNCCL_PROTO=Simple\r\n")
    assert run("env", "write", "--to", "docker", path).code == 0
    data = path.read_bytes()
    assert data.startswith(b"\xef\xbb\xbfFOO=bar\r\nNCCL_PROTO=LL\r\n")
    assert data.count(b"\n") == data.count(b"\r\n")


def test_values_that_nccl_stops_at_are_refused(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "x.env"
    words = ("env", "write", "--to", "docker", path, "--nccl", "2.27.5", "--env", "NCCL_ALGO=Rnig")
    ran = run(*words)
    assert ran.code == 1
    assert "NCCL_ALGO" in ran.stderr
    assert not path.exists()
    assert run(*words, "--force").code == 0
    assert "NCCL_ALGO=Rnig" in path.read_text()


def test_other_variables_only_where_they_are_named(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HF_TOKEN", "secret")
    ran = run("env", "write", "--to", "dotenv", "--env", "CUDA_VISIBLE_DEVICES=0,1")
    assert "secret" not in ran.stdout
    assert "CUDA_VISIBLE_DEVICES=0,1" in ran.stdout


def test_from_a_script(run: Run, tmp_path: Path) -> None:
    (tmp_path / "x.sh").write_text("export NCCL_PROTO=LL128\n")
    ran = run("env", "write", "--no-env", "--from", tmp_path / "x.sh", "--to", "nccl.conf")
    assert ran.stdout == "NCCL_PROTO=LL128\n"


def test_a_drop_in_folder_is_made(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "llm.service.d" / "nccl.conf"
    assert run("env", "write", "--to", "systemd", path).code == 0
    assert path.read_text().startswith("[Service]\n")
    assert run("env", "write", "--to", "systemd", tmp_path / "none" / "x").code == 4


def test_a_line_that_takes_the_value_back(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "x.sh"
    path.write_text("export OTHER=1\nunset NCCL_PROTO\n")
    ran = run("env", "write", "--to", "shell", path)
    assert ran.code == 4
    assert "would still give None" in ran.stderr
    assert path.read_text() == "export OTHER=1\nunset NCCL_PROTO\n"


def test_compose_services(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "compose.yaml"
    path.write_text("services:\n  a:\n    image: x\n  b:\n    image: y\n")
    ran = run("env", "write", "--to", "compose", path)
    assert ran.code == 2
    assert "2 services: a, b" in ran.stderr
    assert run("env", "write", "--to", "compose", path, "--name", "b").code == 0
    assert read_kept_variables(path.read_text(), "compose", "b") == STORY


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        (("--to", "docker", "--no-env"), 2, "no NCCL variable is set"),
        (("--to", "docker", "."), 4, "is a directory"),
        (("--to", "docker", "--from", "none.sh"), 4, "none.sh"),
        (("--to", "floppy"), 2, "floppy"),
        ((), 2, "--to"),
    ],
)
def test_bad_input(run: Run, words: tuple[str, ...], code: int, message: str) -> None:
    ran = run("env", "write", *words)
    assert ran.code == code
    assert message in ran.stderr


def test_a_value_that_is_not_known(run: Run, tmp_path: Path) -> None:
    (tmp_path / "x.sh").write_text("export NCCL_SOCKET_IFNAME=$(hostname)\n")
    ran = run("env", "write", "--no-env", "--from", tmp_path / "x.sh", "--to", "docker")
    assert ran.code == 4
    assert "not known before the launch" in ran.stderr


@pytest.mark.parametrize("kind", [stat.S_IFIFO, stat.S_IFSOCK, stat.S_IFCHR, stat.S_IFDIR])
def test_what_is_no_file_stays_what_it_is(run: Run, tmp_path: Path, kind: int) -> None:
    path = tmp_path / "device"
    if kind == stat.S_IFDIR:
        path.mkdir()
    elif kind == stat.S_IFCHR and os.geteuid() != 0:
        pytest.skip("only root makes devices")
    else:
        null = os.makedev(1, 3) if kind == stat.S_IFCHR else 0
        try:
            os.mknod(path, 0o666 | kind, null)
        except PermissionError:
            pytest.skip("no devices can be made here")
    ran = run("env", "write", "--to", "dotenv", path)
    assert ran.code == 4
    assert f"{path}: is " in ran.stderr
    assert stat.S_IFMT(path.stat().st_mode) == kind
    with pytest.raises(InputError, match="is no regular file; nothing is written"):
        write_text_file(path, "device", b"", b"NCCL_PROTO=LL")
    assert stat.S_IFMT(path.stat().st_mode) == kind
