"""Hidden sizes that meet when batches merge, on both sides of each gate."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from launches import LLAMA, change, outcomes

RULE = "standalone-widths-differ"
NARROW = change(LLAMA, hidden_size=2048, num_hidden_layers=16, intermediate_size=8192, head_dim=64)
TREE = (
    *("--speculative-num-steps", "3", "--speculative-eagle-topk", "2"),
    *("--speculative-num-draft-tokens", "6"),
)


@pytest.mark.parametrize(
    ("version", "flags", "variable", "expected"),
    [
        ("0.5.2", (), None, ["crashes"]),
        ("0.5.10.post1", (), None, ["crashes"]),
        ("0.5.10.post1", (), "1", []),
        ("0.5.10.post1", ("--max-running-requests", "1"), None, []),
        ("0.5.11", (), None, []),
        ("0.5.11", TREE, None, ["crashes"]),
        ("0.5.11", ("--disable-overlap-schedule",), None, ["crashes"]),
        ("0.5.12", TREE, None, []),
    ],
)
def test_by_release_and_scheduler(
    tmp_path: Path,
    version: str,
    flags: tuple[str, ...],
    variable: str | None,
    expected: list[str],
) -> None:
    words = ("--speculative-algorithm", "STANDALONE", *flags)
    environment = {} if variable is None else {"SGLANG_ENABLE_SPEC_V2": variable}
    assert outcomes(tmp_path, RULE, version, *words, draft=NARROW, environment=environment) == (
        expected
    )


@pytest.mark.parametrize("draft", [change(LLAMA, num_hidden_layers=16)])
def test_equal_widths_never_clash(tmp_path: Path, draft: dict[str, Any]) -> None:
    words = ("--speculative-algorithm", "STANDALONE")
    assert outcomes(tmp_path, RULE, "0.5.9", *words, draft=draft) == []
