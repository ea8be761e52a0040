from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from launches import LLAMA, LLAMA_EAGLE3, bare_launch, change, resolved_with

from specpreflight.rules.architecture.dflash_layers_guessed import RULE

DFLASH = change(LLAMA, architectures=["DFlashDraftModel"])


@pytest.mark.parametrize(
    ("draft", "expected"),
    [
        (DFLASH, 1),
        (change(DFLASH, dflash_config={"block_size": 16}), 1),
        (change(DFLASH, dflash_config={"target_layer_ids": [1, 16, 29]}), 0),
        (change(DFLASH, target_layer_ids=[1, 16, 29]), 0),
        (LLAMA_EAGLE3, 0),
    ],
)
def test_list_of_layers(tmp_path: Path, draft: dict[str, Any], expected: int) -> None:
    assert len(list(RULE.check(bare_launch(tmp_path, draft=draft), resolved_with()))) == expected


KNOWN = {"target_layer_ids": [1, 16, 29]}


@pytest.mark.parametrize(
    ("draft", "expected"),
    [
        (change(DFLASH, dflash_config={**KNOWN, "num_target_layers": 32}), []),
        (change(DFLASH, dflash_config={**KNOWN, "num_target_layers": 36}), ["36 layers"]),
        (change(DFLASH, dflash_config=KNOWN, num_target_layers=31), ["31 layers"]),
    ],
)
def test_target_that_it_was_made_for(
    tmp_path: Path, draft: dict[str, Any], expected: list[str]
) -> None:
    found = list(RULE.check(bare_launch(tmp_path, draft=draft), resolved_with()))
    assert [text in finding.message for text, finding in zip(expected, found, strict=True)] == [
        True
    ] * len(expected)
