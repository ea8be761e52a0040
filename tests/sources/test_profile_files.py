"""Profile files, and who gets what they set."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from specpreflight.sources.profile_files import read_profile_file, read_profile_files

#: The head of Debian's own ~/.bashrc.
GUARD = """\
# If not running interactively, don't do anything
case $- in
    *i*) ;;
      *) return;;
esac
"""


def settings(path: Path, text: str) -> dict[str, tuple[str | None, str]]:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return {one.variable.name: (one.variable.value, one.readers) for one in read_profile_file(path)}


@pytest.mark.parametrize(
    "guard", [GUARD, '[ -z "$PS1" ] && return\n', "[[ $- != *i* ]] && return\n"]
)
def test_behind_the_guard_only_terminals(tmp_path: Path, guard: str) -> None:
    text = f"export NCCL_PROTO=LL\n{guard}export NCCL_ALGO=Ring\n"
    assert settings(tmp_path / ".bashrc", text) == {
        "NCCL_PROTO": ("LL", "bash"),
        "NCCL_ALGO": ("Ring", "terminal"),
    }


def test_bash_agrees_about_the_guard(tmp_path: Path) -> None:
    path = tmp_path / ".bashrc"
    path.write_text(f"export NCCL_PROTO=LL\n{GUARD}export NCCL_ALGO=Ring\n")
    command = f'. {path}; echo "$NCCL_PROTO $NCCL_ALGO"'
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=True)
    assert done.stdout == "LL \n"


def test_what_is_not_exported_reaches_nobody(tmp_path: Path) -> None:
    assert settings(tmp_path / ".bashrc", "NCCL_PROTO=LL\nA=1; export A\n") == {"A": ("1", "bash")}


def test_a_value_that_only_running_would_tell(tmp_path: Path) -> None:
    text = "export NCCL_SOCKET_IFNAME=$(ip route | awk '{print $5}')\n"
    assert settings(tmp_path / ".profile", text) == {"NCCL_SOCKET_IFNAME": (None, "login")}


def test_etc_environment_is_no_shell(tmp_path: Path) -> None:
    text = 'NCCL_ALGO="Ring"\nexport NCCL_PROTO=LL # c\r\nA=$HOME\n# B=1\n'
    assert settings(tmp_path / "environment", text) == {
        "NCCL_ALGO": ("Ring", "session"),
        "NCCL_PROTO": ("LL", "session"),
        "A": ("$HOME", "session"),
    }


def test_the_files_of_a_login(tmp_path: Path) -> None:
    home, root = tmp_path / "home", tmp_path / "root"
    settings(root / "etc/environment", "A=1\n")
    settings(root / "etc/profile.d/nccl.sh", "export B=2\n")
    settings(home / ".profile", "export C=never\n")
    settings(home / ".bash_profile", "export C=3\n")
    settings(home / ".bashrc", "export D=4\n")
    found = read_profile_files(home, root)
    assert [(one.variable.name, one.variable.value, one.readers) for one in found] == [
        ("A", "1", "session"),
        ("B", "2", "login"),
        ("C", "3", "login"),
        ("D", "4", "bash"),
    ]
    assert found[1].variable.origin.line == 1
