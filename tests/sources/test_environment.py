"""The sources of an environment, and which of them wins."""

from __future__ import annotations

from pathlib import Path

import pytest

from specpreflight.errors import UsageError
from specpreflight.sources.environment import read_environment, read_settings


def test_the_last_source_wins(tmp_path: Path) -> None:
    first, second = tmp_path / "1.env", tmp_path / "2.env"
    first.write_text("A=file\nB=file\nC=file\n")
    second.write_text("# comment\nB=second\n")
    process = {"A": "process", "D": "process"}
    read = read_environment(process, [first, second], ["C=flag"])
    assert {name: known.value for name, known in read.items()} == {
        "A": "file",
        "B": "second",
        "C": "flag",
        "D": "process",
    }
    assert (read["B"].origin.path, read["B"].origin.line) == (str(second), 2)
    assert read["C"].origin.kind == "flag"
    assert read["D"].origin.kind == "environment"


@pytest.mark.parametrize("value", ["", " Ring ", '"Ring"', "a=b", "\n", "ü\udcff", "$HOME"])
def test_settings_are_taken_byte_for_byte(value: str) -> None:
    assert read_settings([f"A={value}"])["A"].value == value


@pytest.mark.parametrize("setting", ["A", "=1", ""])
def test_what_is_no_setting(setting: str) -> None:
    with pytest.raises(UsageError, match="not NAME=VALUE"):
        read_settings([setting])


def test_a_file_may_use_what_came_before_it(tmp_path: Path) -> None:
    path = tmp_path / "x.env"
    path.write_text("A=${BASE}/a\nB=${A}/b\n")
    read = read_environment({"BASE": "/base"}, [path], [])
    assert read["B"].value == "/base/a/b"
