"""The dotenv dialect against python-dotenv itself, where it is installed."""

from __future__ import annotations

import io
import logging
from importlib.metadata import version

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from packaging.version import Version

from specpreflight.errors import InputError
from specpreflight.sources.dotenv import read_dotenv

PIECES = st.sampled_from([*"AB='\"\\ #\n\r\t${}:-export", "export ", "A=", "B=", "${A}", "${B:-x}"])


@settings(max_examples=1000, deadline=None)
@given(st.lists(PIECES, max_size=25).map("".join))
def test_reads_like_python_dotenv(text: str) -> None:
    dotenv = pytest.importorskip("dotenv")
    parser = pytest.importorskip("dotenv.parser")
    if Version(version("python-dotenv")) < Version("1.2.4"):
        pytest.skip("older releases end a quoted value elsewhere")
    logging.getLogger("dotenv").setLevel(logging.CRITICAL)
    refused = any(binding.error for binding in parser.parse_stream(io.StringIO(text)))
    try:
        read = {line.name: line.value for line in read_dotenv(text, "f", {})}
    except InputError:
        assert refused
        return
    assert not refused
    assert read == _values(dotenv, text)


def _values(dotenv: object, text: str) -> dict[str, str | None]:
    with pytest.MonkeyPatch.context() as patch:
        for name in ("A", "B", "export"):
            patch.delenv(name, raising=False)
        return dict(dotenv.dotenv_values(stream=io.StringIO(text)))  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("line", "value"),
    [
        ("A=1", "1"),
        ("export A=1", "1"),
        ("A = 1 ", "1"),
        ("A='1 # 2'", "1 # 2"),
        ('A="a\\nb"', "a\nb"),
        ("A='a\\nb'", "a\\nb"),
        ("A=a#b", "a#b"),
        ("A=a #b", "a"),
        ("A= # b", ""),
        ("A", None),
        ("A=${B}", "2"),
        ("A=${C:-3}", "3"),
        ("A=$B", "$B"),
        ('A="1" # c', "1"),
    ],
)
def test_one_line(line: str, value: str | None) -> None:
    [read] = read_dotenv(f"{line}\n", "f", {"B": "2"})
    assert (read.name, read.value) == ("A", value)
