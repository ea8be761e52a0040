from __future__ import annotations

import pytest

from specpreflight.engines.nccl.versions import parse_release, release_of_torch
from specpreflight.errors import UsageError


@pytest.mark.parametrize(
    ("text", "release"),
    [
        ("2.27.5", "2.27.5"),
        ("v2.27.5-1", "2.27.5"),
        ("2.27.5+cuda12.9", "2.27.5"),
        ("22705", "2.27.5"),
        ("2.31", "2.31.0"),
    ],
)
def test_spellings(text: str, release: str) -> None:
    assert str(parse_release(text)) == release


@pytest.mark.parametrize("text", ["", "3.1.2", "newest", "2", "12.9"])
def test_refused(text: str) -> None:
    with pytest.raises(UsageError, match="not an NCCL release"):
        parse_release(text)


def test_order_is_numeric() -> None:
    assert parse_release("2.9.9") < parse_release("2.10.3") < parse_release("2.30.7")


@pytest.mark.parametrize(
    ("torch", "release"),
    [
        ("2.4.1", "2.20.5"),
        ("2.6.0", "2.21.5"),
        ("2.7.0", "2.26.2"),
        ("2.8.0+cu128", "2.27.3"),
        ("2.10.0", "2.27.5"),
        ("2.14.1", "2.30.7"),
        ("2.15.0", "None"),
        ("1.13", "None"),
        ("nightly", "None"),
    ],
)
def test_pins_of_torch(torch: str, release: str) -> None:
    assert str(release_of_torch(torch)) == release
