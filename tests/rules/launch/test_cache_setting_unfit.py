"""What a user sees, on both sides of each version gate."""

from __future__ import annotations

from pathlib import Path

import pytest
from launches import EAGLE3_FLAGS, outcomes

EAGLE3 = ("--speculative-algorithm", "EAGLE3")
CHAIN = EAGLE3_FLAGS


@pytest.mark.parametrize(("page", "expected"), [("1", []), ("64", []), ("3", ["refuses"])])
@pytest.mark.parametrize("version", ["0.5.2", "0.5.23"])
def test_chunks_are_whole_pages(
    tmp_path: Path, version: str, page: str, expected: list[str]
) -> None:
    words = (*CHAIN, "--page-size", page, "--chunked-prefill-size", "8192")
    assert outcomes(tmp_path, "cache-setting-unfit", version, *words) == expected
