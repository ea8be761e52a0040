"""NCCL's own files: which are read, in which order, and how a line is taken."""

from __future__ import annotations

from pathlib import Path

import pytest

from specpreflight.errors import InputError
from specpreflight.models.nccl import Release
from specpreflight.sources.nccl_conf import conf_files, parse_nccl_conf, read_nccl_conf

OLD, NEW = Release(2, 21, 5), Release(2, 30, 7)


def parse(data: bytes, release: Release = NEW) -> list[tuple[str, str | None]]:
    return [(line.name, line.value) for line in parse_nccl_conf(data, release)]


def test_nothing_is_trimmed_unquoted_or_expanded() -> None:
    data = b'NCCL_ALGO="Ring"\nNCCL_PROTO=LL # x\n NCCL_A=1\nNCCL_B = 2\nexport NCCL_C=3\n'
    assert parse(data) == [
        ("NCCL_ALGO", '"Ring"'),
        ("NCCL_PROTO", "LL # x"),
        (" NCCL_A", "1"),
        ("NCCL_B ", " 2"),
        ("export NCCL_C", "3"),
    ]


def test_comments_since_2_26() -> None:
    data = b"#NCCL_ALGO=Ring\n"
    assert parse(data, Release(2, 26, 2)) == []
    assert parse(data, Release(2, 25, 1)) == [("#NCCL_ALGO", "Ring")]


def test_a_cr_belongs_to_the_value_before_2_30() -> None:
    assert parse(b"NCCL_PROTO=LL\r\n", Release(2, 29, 7)) == [("NCCL_PROTO", "LL\r")]
    assert parse(b"NCCL_PROTO=LL\r\n", NEW) == [("NCCL_PROTO", "LL")]


def test_a_byte_order_mark_belongs_to_the_name() -> None:
    assert parse(b"\xef\xbb\xbfNCCL_PROTO=LL\n") == [("\ufeffNCCL_PROTO", "LL")]


def test_long_values_are_cut() -> None:
    [(_, value)] = parse(b"NCCL_IB_HCA=" + b"x" * 2000, OLD)
    assert value == "x" * 1023


def test_lines_without_a_name_or_value_are_passed_over() -> None:
    assert parse(b"\n=1\nNCCL_ALGO\n") == []


def test_the_process_then_the_users_file_then_the_systems(tmp_path: Path) -> None:
    home, system = tmp_path / "home", tmp_path / "nccl.conf"
    home.mkdir()
    (home / ".nccl.conf").write_text("NCCL_A=user\nNCCL_B=user\nNCCL_B=again\n")
    system.write_text("NCCL_A=system\nNCCL_B=system\nNCCL_C=system\n")
    read = read_nccl_conf({"NCCL_A": "process", "HOME": str(home)}, NEW, None, system)
    assert {name: known.value for name, known in read.items()} == {
        "NCCL_B": "user",
        "NCCL_C": "system",
    }
    assert (read["NCCL_B"].origin.path, read["NCCL_B"].origin.line) == (
        str(home / ".nccl.conf"),
        2,
    )


def test_which_files(tmp_path: Path) -> None:
    passwd, system = tmp_path / "passwd", tmp_path / "system"
    environment = {"HOME": "/h", "NCCL_CONF_FILE": "/c"}
    assert conf_files(environment, NEW, passwd, system) == [Path("/c"), system]
    assert conf_files(environment, OLD, passwd, system) == [passwd / ".nccl.conf", system]
    assert conf_files({"HOME": "/h"}, NEW, passwd, system) == [Path("/h/.nccl.conf"), system]
    assert conf_files({}, NEW, passwd, system) == [system]
    assert conf_files({}, OLD, None, system) == [system]


def test_a_file_that_is_a_directory(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="is a directory"):
        read_nccl_conf({"NCCL_CONF_FILE": str(tmp_path)}, NEW, None, tmp_path / "none")
