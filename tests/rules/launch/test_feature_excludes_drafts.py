"""Features beside speculation, on both sides of the release that lets them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from launches import EAGLE3_FLAGS, LLAMA_EAGLE3, change, outcomes

RULE = "feature-excludes-drafts"
SAMPLING = "--speculative-use-rejection-sampling"


@pytest.mark.parametrize(
    ("version", "flags", "draft", "expected"),
    [
        ("0.5.11", ("--lora-paths", "a=b"), {}, ["refuses"]),
        ("0.5.11", (), {}, []),
        ("0.5.16", (SAMPLING,), {}, ["crashes"]),
        ("0.5.16", (SAMPLING,), {"draft_vocab_size": 128256}, []),
    ],
)
def test_feature(
    tmp_path: Path,
    version: str,
    flags: tuple[str, ...],
    draft: dict[str, Any],
    expected: list[str],
) -> None:
    words = (*EAGLE3_FLAGS, *flags)
    got = outcomes(tmp_path, RULE, version, *words, draft=change(LLAMA_EAGLE3, **draft))
    assert got == expected
