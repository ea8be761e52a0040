"""Every broken checkpoint gives one line that names the file, and a remedy; never a traceback."""

from __future__ import annotations

import errno
import os
import re
import sys
from pathlib import Path

import pytest
from malformed import GOOD, MALFORMED, Malformed

from specpreflight.documents import (
    parse_document,
    read_document,
    refuse_byte_order_mark,
)
from specpreflight.documents.read import DEPTH_LIMIT
from specpreflight.errors import InputError
from specpreflight.sources.checkpoint import read_checkpoint


@pytest.mark.parametrize("case", MALFORMED, ids=lambda case: case.name)
def test_malformed_input_is_one_clear_line(case: Malformed, tmp_path: Path) -> None:
    given = str(case.make(tmp_path))
    problem = read_checkpoint("draft", given).problem
    assert problem is not None
    message = problem.message
    assert re.search(case.message, message), message
    assert message.startswith(given)
    assert "\n" not in message
    assert not message.endswith(".")
    assert problem.hint


@pytest.mark.parametrize("text", ['{"a": [1,],}', '{"a": 1,}', '{"a": 1, }'])
def test_trailing_comma_has_the_same_words_on_every_python(text: str) -> None:
    with pytest.raises(InputError, match="trailing comma before"):
        parse_document(text.encode(), "config.json")


@pytest.mark.parametrize(
    ("code", "reason"),
    [
        (errno.EACCES, "no permission to read it"),
        (errno.EIO, "failed to read it"),
        (errno.ESTALE, "network file system lost it"),
        (errno.ENOMEM, "cannot allocate memory"),
    ],
)
def test_unreadable_file(
    code: int, reason: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> int:
        raise OSError(code, os.strerror(code))

    path = tmp_path / "config.json"
    path.write_bytes(GOOD)
    monkeypatch.setattr(os, "open", refuse)
    with pytest.raises(InputError, match=reason) as caught:
        read_document(path, "draft/config.json")
    assert caught.value.message.startswith("draft/config.json: ")


def test_read_error_after_opening(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(_: int) -> os.stat_result:
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    path = tmp_path / "config.json"
    path.write_bytes(GOOD)
    with monkeypatch.context() as patch:
        patch.setattr(os, "fstat", refuse)
        with pytest.raises(InputError, match="failed to read it") as caught:
            read_document(path)
    assert caught.value.exit_code == 4


@pytest.mark.skipif(os.geteuid() == 0, reason="root reads whatever the mode says")
def test_mode_without_read_permission(tmp_path: Path) -> None:
    path = tmp_path / "config.json"
    path.write_bytes(GOOD)
    path.chmod(0)
    with pytest.raises(InputError, match="no permission to read it"):
        read_document(path)


def test_null_character_in_the_name() -> None:
    with pytest.raises(InputError, match="null character"):
        read_document("draft\0")


def test_line_break_in_the_name_stays_on_one_line(tmp_path: Path) -> None:
    path = tmp_path / "a\nb.json"
    path.write_bytes(b"{")
    with pytest.raises(InputError) as caught:
        read_document(path)
    assert "a\\nb.json:1:2" in caught.value.message


@pytest.mark.skipif(sys.version_info < (3, 11), reason="Python 3.10 converts any number of digits")
def test_number_with_too_many_digits() -> None:
    with pytest.raises(InputError, match="more digits"):
        parse_document(b'{"a": ' + b"9" * 5000 + b"}", "config.json")


@pytest.mark.parametrize(("levels", "accepted"), [(DEPTH_LIMIT, True), (DEPTH_LIMIT + 1, False)])
def test_depth_limit(levels: int, accepted: bool) -> None:
    data = b'{"a":' * (levels - 1) + b"{}" + b"}" * (levels - 1)
    if accepted:
        assert parse_document(data, "config.json").get("/a/a") is not None
    else:
        with pytest.raises(InputError, match="nested too deeply"):
            parse_document(data, "config.json")


def test_shallow_file_with_many_brackets_is_read() -> None:
    data = b'{"a": [' + b",".join([b"[1]"] * 1000) + b"]}"
    assert parse_document(data, "config.json").get("/a/999/0") == 1


@pytest.mark.parametrize("size", [len(GOOD), len(GOOD) - 1])
def test_size_limit(size: int, tmp_path: Path) -> None:
    path = tmp_path / "config.json"
    path.write_bytes(GOOD)
    if size == len(GOOD):
        assert read_document(path, limit=size).get("/model_type") == "llama"
    else:
        with pytest.raises(InputError, match="more than the"):
            read_document(path, limit=size)


def test_byte_order_mark_is_refused_where_an_engine_would_read() -> None:
    document = parse_document(b"\xef\xbb\xbf" + GOOD, "draft/config.json")
    with pytest.raises(InputError, match=r"draft/config.json:1:1: begins with a byte order mark"):
        refuse_byte_order_mark(document)
    refuse_byte_order_mark(parse_document(GOOD, "draft/config.json"))


def test_a_directory_or_its_config_are_the_same_checkpoint(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_bytes(GOOD)
    for given in (str(tmp_path), f"{tmp_path}/", f"{tmp_path}/config.json"):
        checkpoint = read_checkpoint("draft", given)
        assert checkpoint.problem is None
        assert checkpoint.config.name == str(tmp_path / "config.json")
        assert checkpoint.files == ("config.json",)
