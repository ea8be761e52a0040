"""What a service gets: systemd's order of sources, specifiers, drop-ins."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from specpreflight.models.nccl import Release
from specpreflight.sources.environment_sources import EnvironmentSource, read_environment_source
from specpreflight.sources.systemd_files import expand_wildcard, find_drop_ins

RELEASE = Release(2, 27, 5)


def read(path: Path, text: str) -> EnvironmentSource:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return read_environment_source(path, str(path), RELEASE)


def values(source: EnvironmentSource) -> dict[str, str | None]:
    return {name: known.value for name, known in source.variables.items()}


def test_an_environment_file_wins_wherever_it_stands(tmp_path: Path) -> None:
    (tmp_path / "nccl.env").write_text("NCCL_ALGO=Tree\nNCCL_PROTO=LL\n")
    source = read(
        tmp_path / "llm.service",
        f"[Service]\nEnvironmentFile={tmp_path}/nccl.env\n"
        "Environment=NCCL_ALGO=Ring NCCL_PROTO=LL NCCL_DEBUG=INFO\nExecStart=/bin/true\n",
    )
    assert values(source) == {"NCCL_ALGO": "Tree", "NCCL_PROTO": "LL", "NCCL_DEBUG": "INFO"}
    assert source.variables["NCCL_ALGO"].origin.path == f"{tmp_path}/nccl.env"
    [note] = source.notes
    assert "NCCL_ALGO is `Tree`" in note
    assert "llm.service:3" in note


def test_the_later_of_two_files_wins_and_an_empty_setting_forgets(tmp_path: Path) -> None:
    for name, value in (("a", "1"), ("b", "2"), ("c", "3")):
        (tmp_path / f"{name}.env").write_text(f"NCCL_DEBUG={value}\n")
    source = read(
        tmp_path / "llm.service",
        f"[Service]\nEnvironmentFile={tmp_path}/c.env\nEnvironmentFile=\n"
        f"EnvironmentFile={tmp_path}/b.env\nEnvironmentFile=-{tmp_path}/a.env\n"
        "Environment=A=1\nEnvironment=\nEnvironment=B=1\n",
    )
    assert values(source) == {"NCCL_DEBUG": "1", "B": "1"}


def test_a_pattern_names_files_in_their_order(tmp_path: Path) -> None:
    (tmp_path / "b.env").write_text("NCCL_ALGO=Tree\n")
    (tmp_path / "a.env").write_text("NCCL_ALGO=Ring\nNCCL_PROTO=LL\n")
    source = read(tmp_path / "x.service", f"[Service]\nEnvironmentFile={tmp_path}/*.env\n")
    assert values(source) == {"NCCL_ALGO": "Tree", "NCCL_PROTO": "LL"}


def test_what_env_write_makes_of_a_unit_is_read_as_its_drop_in(tmp_path: Path) -> None:
    path = tmp_path / "llm.service.d" / "nccl.conf"
    source = read(path, "[Service]\nEnvironment=NCCL_ALGO=Ring\n")
    assert (source.form, values(source)) == ("systemd", {"NCCL_ALGO": "Ring"})


def test_unset_comes_last_and_pass_first(tmp_path: Path) -> None:
    (tmp_path / "x.env").write_text("NCCL_ALGO=Tree\nNCCL_PROTO=LL\n")
    source = read(
        tmp_path / "llm.service",
        "[Service]\nUnsetEnvironment=NCCL_ALGO NCCL_PROTO=Simple A=1\n"
        f"EnvironmentFile={tmp_path}/x.env\nEnvironment=A=1 B=2\n"
        "PassEnvironment=B NCCL_DEBUG\n",
    )
    assert values(source) == {"NCCL_PROTO": "LL", "B": "2", "NCCL_DEBUG": None}


def test_specifiers(tmp_path: Path) -> None:
    source = read(
        tmp_path / "llm-x@node 1.service",
        '[Service]\nEnvironment="A=%i" "B=50%%" C=%h/x "D=%n" E=%p F=%z G=%j\n',
    )
    assert values(source) == {
        "A": "node 1",
        "B": "50%",
        "C": None,
        "D": "llm-x@node 1.service",
        "E": "llm-x",
        "F": "%z",
        "G": "x",
    }
    assert values(read(tmp_path / "t@.service", "[Service]\nEnvironment=A=%i B=1\n"))["A"] is None


def test_what_systemd_drops_is_said(tmp_path: Path) -> None:
    (tmp_path / "x.env").write_text("export NCCL_ALGO=Ring\nNCCL_PROTO=LL\n")
    source = read(
        tmp_path / "llm.service",
        f"[Service]\nEnvironmentFile={tmp_path}/x.env\nEnvironmentFile=/none/y.env\n"
        'Environment=A=1 NCCL_DEBUG "NCCL_NTHREADS=512\nEnvironment=B=\\d C=1\n',
    )
    assert values(source) == {"A": "1", "NCCL_PROTO": "LL"}
    said = "\n".join(source.notes)
    for part in ("`export NCCL_ALGO`", "`NCCL_DEBUG`: no assignment", '`"NCCL_NTHREADS=512`',
                 "`B=\\d C=1`", "/none/y.env is not here"):  # fmt: skip
        assert part in said


def test_drop_ins_add_to_a_unit(tmp_path: Path) -> None:
    folder = tmp_path / "llm.service.d"
    folder.mkdir()
    (folder / "20-late.conf").write_text("[Service]\nEnvironment=NCCL_ALGO=Tree\n")
    (folder / "10-early.conf").write_text("[Service]\nEnvironment=NCCL_ALGO=NVLS A=1\n")
    (folder / "notes.txt").write_text("[Service]\nEnvironment=NCCL_ALGO=PAT\n")
    text = "[Service]\nEnvironment=NCCL_ALGO=Ring NCCL_PROTO=LL\nExecStart=/bin/true\n"
    source = read(tmp_path / "llm.service", text)
    assert values(source) == {"NCCL_ALGO": "Tree", "NCCL_PROTO": "LL", "A": "1"}
    origin = source.variables["NCCL_ALGO"].origin
    assert (origin.path, origin.line) == (str(folder / "20-late.conf"), 2)


FOLDERS = (
    "a-b@i.service.d", "a-b@.service.d", "a-@i.service.d", "a-@.service.d", "a-.service.d",
    "service.d", "a-b.service.d", "b.service.d",
)  # fmt: skip


@pytest.mark.parametrize("left_out", [*FOLDERS, "none"])
def test_drop_ins_are_those_of_systemd(tmp_path: Path, left_out: str) -> None:
    if shutil.which("systemd-analyze") is None:
        pytest.skip("systemd-analyze is not installed")
    for name in ("a-b@i.service", "a-b@.service"):
        (tmp_path / name).write_text("[Service]\nExecStart=/bin/true\n")
    for number, folder in enumerate(name for name in FOLDERS if name != left_out):
        (tmp_path / folder).mkdir()
        for name in ("50-same.conf", f"{'mfztbkqe'[number]}.conf"):
            (tmp_path / folder / name).write_text("[Service]\nBogus=1\n")
    (tmp_path / "service.d").mkdir(exist_ok=True)
    (tmp_path / "service.d" / "zz.conf").symlink_to("/dev/null")
    ran = subprocess.run(
        ["systemd-analyze", "verify", "--man=no", str(tmp_path / "a-b@i.service")],
        env={**os.environ, "SYSTEMD_UNIT_PATH": f"{tmp_path}:"},
        capture_output=True, text=True,
    )  # fmt: skip
    read_by_systemd = re.findall(r"^(\S+):2: Unknown key", ran.stderr, re.MULTILINE)
    ours = [str(path) for path in find_drop_ins(tmp_path / "a-b@i.service")]
    assert ours
    assert read_by_systemd[: len(ours)] == ours


def test_a_quadlet_lets_its_own_settings_win(tmp_path: Path) -> None:
    (tmp_path / "x.env").write_text('NCCL_ALGO=Tree\nNCCL_PROTO="LL"\n')
    source = read(
        tmp_path / "llm.container",
        f"[Container]\nImage=lmsysorg/sglang:v0.5.9\nEnvironment=NCCL_ALGO=Ring\n"
        f"EnvironmentFile={tmp_path}/x.env\nExec=python3 -m sglang.launch_server --model-path /m\n"
        "[Service]\nEnvironment=NCCL_DEBUG=INFO\n",
    )
    assert values(source) == {"NCCL_ALGO": "Ring", "NCCL_PROTO": '"LL"'}


@pytest.mark.parametrize(
    ("pattern", "found"), [("*", ["a"]), ("**", ["a"]), ("**x", []), ("[", []), ("***/a", [])]
)
def test_a_pattern_of_environment_files_is_one_of_glob(
    tmp_path: Path, pattern: str, found: list[str]
) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "a").write_text("NCCL_ALGO=Ring\n")
    (tmp_path / "in" / ".hidden").write_text("NCCL_PROTO=LL\n")
    wanted = [str(tmp_path / "in" / name) for name in found]
    assert expand_wildcard(f"{tmp_path}/in/{pattern}") == wanted
