"""What may stand after `vllm@`."""

from __future__ import annotations

from pathlib import Path

import pytest

from specpreflight.engines.vllm.releases import identify, releases, sort_key
from specpreflight.errors import UsageError

NEWEST = releases()[-1]


@pytest.mark.parametrize(
    ("wanted", "version"),
    [
        (None, NEWEST),
        ("main", NEWEST),
        ("nightly", NEWEST),
        ("0.11.2", "0.11.2"),
        ("v0.11.2", "0.11.2"),
        ("v0.24.0-cu129", "0.24.0"),
        ("0.33.0+g1234567.cu129", "0.33.0"),
        ("0.20.2.dev12", "0.20.2"),
        ("0.11.0rc1", "0.10.2"),
        ("0.11.3", "0.11.2"),
        ("99.0", NEWEST),
    ],
)
def test_the_release_whose_knowledge_is_used(wanted: str | None, version: str) -> None:
    assert identify(wanted).version == version


@pytest.mark.parametrize(
    ("wanted", "says"),
    [("0.9.2", "older than every known release"), ("newest", "is no vLLM version"), ("", "is no")],
)
def test_what_is_no_release(wanted: str, says: str) -> None:
    with pytest.raises(UsageError, match=says):
        identify(wanted)


def test_a_folder_says_its_version_in_its_metadata(tmp_path: Path) -> None:
    (tmp_path / "vllm-0.16.0+cu129.dist-info").mkdir()
    found = identify(str(tmp_path))
    assert (found.version, found.path) == ("0.16.0", str(tmp_path))


def test_a_folder_without_metadata_is_taken_for_the_newest(tmp_path: Path) -> None:
    found = identify(str(tmp_path))
    assert found.version == NEWEST
    assert "does not say its version" in found.determined_by


def test_releases_are_in_the_order_of_their_numbers() -> None:
    assert list(releases()) == sorted(releases(), key=sort_key)
    assert sort_key("0.11.0rc1") < sort_key("0.11.0") < sort_key("0.11.0.post1")
    assert sort_key("0.9.2") < sort_key("0.10.0")
