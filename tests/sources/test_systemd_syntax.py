"""Units and env files as systemd's own parsers read them, which run here where it is installed."""

from __future__ import annotations

import ctypes
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from specpreflight.sources.systemd_syntax import (
    Setting,
    read_settings,
    read_unit_env_file,
    split_command,
    split_words,
)

#: `EXTRACT_CUNESCAPE`, `EXTRACT_CUNESCAPE_RELAX` and `EXTRACT_UNQUOTE` of extract-word.h.
_UNESCAPE, _RELAX, _UNQUOTE = 2, 4, 32
_INVALID = -22


@pytest.fixture(scope="module")
def systemd() -> ctypes.CDLL:
    libraries = sorted(Path("/usr/lib").glob("*/systemd/libsystemd-shared-*.so"))
    libraries += sorted(Path("/usr/lib/systemd").glob("libsystemd-shared-*.so"))
    if not libraries:
        pytest.skip("systemd is not installed")
    return ctypes.CDLL(str(libraries[0]))


def their_words(systemd: Any, text: str) -> tuple[list[str], bool]:
    """Return the words of `extract_first_word`, and whether it read to the end."""
    rest = ctypes.c_char_p(text.encode("utf-8", "surrogateescape"))
    words: list[str] = []
    while True:
        word = ctypes.c_char_p()
        flags = _UNESCAPE | _UNQUOTE
        found = systemd.extract_first_word(ctypes.byref(rest), ctypes.byref(word), None, flags)
        if found <= 0:
            return words, found == 0
        words.append((word.value or b"").decode("utf-8", "surrogateescape"))


PIECES = st.sampled_from([
    "a", "b", "=", "$", "%", "é", " ", "\t", "\n", "'", '"', "\\", "\\\\", "\\n", "\\s", "\\x20",
    "\\x", "\\xc3", "\\xa9", "\\101", "\\400", "\\u00e9", "\\U0001F600", "\\q", "\\0", "\\x00",
])  # fmt: skip


@settings(max_examples=2000, deadline=None)
@given(st.lists(PIECES, max_size=12).map("".join))
def test_words_are_those_of_systemd(systemd: Any, text: str) -> None:
    ours = split_words(text)
    words, complete = their_words(systemd, text)
    assert ours.words == words
    assert (ours.dropped == "") == complete


FILE_PIECES = st.sampled_from([
    "A", "B", "=", "'", '"', "\\", " ", "\t", "\n", "\r\n", "#", ";", "x", "$", "`", "export ",
    "é", "A=1\n", "B='x'\n",
])  # fmt: skip


@settings(max_examples=2000, deadline=None)
@given(st.lists(FILE_PIECES, max_size=14).map("".join))
def test_env_files_are_read_as_by_systemd(
    systemd: Any, tmp_path_factory: pytest.TempPathFactory, text: str
) -> None:
    if any(line.lstrip(" \t")[:1] in "#;" and "\\" in line for line in text.splitlines()):
        return  # A comment that ends in a backslash goes on before 254 and ends since.
    path = tmp_path_factory.getbasetemp() / "systemd.env"
    path.write_bytes(text.encode())
    listed = ctypes.POINTER(ctypes.c_char_p)()
    assert systemd.load_env_file(None, str(path).encode(), ctypes.byref(listed)) == 0
    theirs, at = [], 0
    while listed and listed[at] is not None:
        theirs.append(listed[at].decode())
        at += 1
    last = {line.name: line.value for line in read_unit_env_file(text)}
    ours = [f"{name}={value}" for name, value in last.items() if not name.startswith("=")]
    assert sorted(ours) == sorted(each for each in theirs if not each.startswith("="))


@pytest.mark.parametrize(
    ("text", "assignments"),
    [
        ("A=1\r\nB=2\r\n", {"A": "1", "B": "2"}),
        ("A='x y' # z\n", {"A": "x y# z"}),
        ("A=x # y\n", {"A": "x # y"}),
        ('A="a\\"b\\n"\n', {"A": 'a"b\\n'}),
        ("A=a\\\n  b\n", {"A": "a  b"}),
        ("  A = b \n", {"A": "b"}),
        ("# A=1\n;B=1\nA=2\nA=3\n", {"A": "3"}),
        ("A=$HOME/x\n", {"A": "$HOME/x"}),
        ("A='two\nlines'\n", {"A": "two\nlines"}),
        ("NOTHING\nA=", {"A": ""}),
    ],
)
def test_what_people_put_into_env_files(text: str, assignments: dict[str, str]) -> None:
    assert {line.name: line.value for line in read_unit_env_file(text)} == assignments


@pytest.mark.parametrize("name", ["export A", "\ufeffA", "1A", "A-B"])
def test_a_name_that_systemd_drops_is_said(name: str) -> None:
    [line] = read_unit_env_file(f"{name}=1\n")
    assert "no name of a variable" in line.note


def test_lines_are_counted() -> None:
    text = "A=1\r\n\r\n# x\r\nB='1\n2'\nC=3\\\n4\nD=4\n"
    lines = {line.name: line.line for line in read_unit_env_file(text)}
    assert lines == {"A": 1, "B": 4, "C": 6, "D": 8}


UNIT = """\
[Service]
Environment=A=1 \\
# a comment in between
  B=2
  Environment = C=3
; a comment
Environment=D=\\\\
Environment=E=5
ExecStart=/bin/x --flag \\
"""


@pytest.mark.parametrize("line_end", ["\n", "\r\n"])
def test_settings_of_a_unit(line_end: str) -> None:
    found = list(read_settings(UNIT.replace("\n", line_end)))
    assert found == [
        Setting("Service", "Environment", "A=1  B=2", 2),
        Setting("Service", "Environment", "C=3", 5),
        Setting("Service", "Environment", "D=\\\\", 7),
        Setting("Service", "Environment", "E=5", 8),
        Setting("Service", "ExecStart", "/bin/x --flag", 9),
    ]


def test_a_command_keeps_escapes_that_systemd_does_not_know() -> None:
    assert split_command(r"grep '\d+' \x41 \$x").words == ["grep", r"\d+", "A", r"\$x"]
    assert split_command("a 'b").dropped == "'b"
