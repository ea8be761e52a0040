"""Edges of the parsers that no recorded row shows; each was run in NCCL's own compiled code."""

from __future__ import annotations

import pytest

from specpreflight.engines.nccl.interfaces import Entry, parse_adapters
from specpreflight.engines.nccl.understand import understand
from specpreflight.engines.nccl.versions import parse_release


@pytest.mark.parametrize(
    ("text", "understood"),
    [
        ("x" * 252 + "%3f", "x" * 252 + "   "),
        # Nine blanks don't fit the 256 bytes: the text stays as it is.
        ("x" * 252 + "%9f", "x" * 252 + "%9f"),
        ("x" * 253 + "%9f", "[%F %T] "),
        ("x" * 254 + "%1f", "x" * 254 + " "),
        ("x" * 255 + "%1f", "[%F %T] "),
        ("x" * 255, "x" * 255),
        ("x" * 256, "[%F %T] "),
        ("%%3f_%3f_%2f", "%%3f     %2f"),
    ],
)
def test_timestamps_that_fit_the_buffer(text: str, understood: str) -> None:
    release = parse_release("2.29.7")
    assert understand("NCCL_DEBUG_TIMESTAMP_FORMAT", text, release).text == understood


@pytest.mark.parametrize(
    ("release", "entry"),
    [
        ("2.29.7", Entry("mlx5_0", 1)),
        ("2.30.7", Entry("mlx5_0", 1, -32768, 5)),
    ],
)
def test_rail_and_plane_are_sixteen_bits_and_the_port_is_not(release: str, entry: Entry) -> None:
    parsed = parse_adapters("mlx5_0:1:32768:65541", parse_release(release))
    assert parsed.entries == (entry,)


@pytest.mark.parametrize(
    ("release", "text", "understood"),
    [
        ("2.26.6", "1", "1"),
        ("2.26.6", " 1", "default"),
        ("2.26.6", "0x1", "default"),
        ("2.27.3", " 1", "1"),
        ("2.27.3", "0x1", "1"),
    ],
)
def test_collnet_is_a_word_before_it_is_a_number(release: str, text: str, understood: str) -> None:
    assert understand("NCCL_COLLNET_ENABLE", text, parse_release(release)).text == understood
