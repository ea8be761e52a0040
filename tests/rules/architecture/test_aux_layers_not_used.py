"""What a user sees, on both sides of each version gate."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from launches import DEEPSEEK, EAGLE3_FLAGS, LLAMA_EAGLE3, change, outcomes

RULE = "aux-layers-not-used"


@pytest.mark.parametrize(
    ("version", "ids", "expected"),
    [
        ("0.4.6.post5", [2, 15, 29], []),
        ("0.4.9", [2, 15, 29], ["degrades"]),
        ("0.5.10.post1", [2, 15, 29], ["degrades"]),
        ("0.5.11", [2, 15, 29], []),
        ("0.5.9", [1, 15, 28], []),
        ("0.5.9", None, []),
    ],
    ids=["ids ignored", "from here", "to here", "fixed", "ids are the default", "none given"],
)
def test_graphs(tmp_path: Path, version: str, ids: Any, expected: list[str]) -> None:
    config = ... if ids is None else {"eagle_aux_hidden_state_layer_ids": ids}
    draft = change(LLAMA_EAGLE3, eagle_config=config)
    assert outcomes(tmp_path, RULE, version, *EAGLE3_FLAGS, draft=draft) == expected


def test_without_graphs_there_is_nothing_to_say(tmp_path: Path) -> None:
    ids = {"eagle_aux_hidden_state_layer_ids": [2, 15, 29]}
    draft = change(LLAMA_EAGLE3, eagle_config=ids)
    words = (*EAGLE3_FLAGS, "--disable-cuda-graph")
    assert outcomes(tmp_path, RULE, "0.5.9", *words, draft=draft) == []


@pytest.mark.parametrize(
    ("version", "ids", "expected"),
    [
        ("0.5.12.post1", [2, 16, 29], ["starts"]),
        ("0.5.12.post1", [1, 15, 28], []),
        ("0.5.13", [2, 16, 29], []),
    ],
    ids=["one too late", "counts outputs", "taken as they are"],
)
def test_deepseek_adds_one(
    tmp_path: Path, version: str, ids: list[int], expected: list[str]
) -> None:
    draft = change(LLAMA_EAGLE3, eagle_config={"eagle_aux_hidden_state_layer_ids": ids})
    got = outcomes(tmp_path, RULE, version, *EAGLE3_FLAGS, target=DEEPSEEK, draft=draft)
    assert got == expected
