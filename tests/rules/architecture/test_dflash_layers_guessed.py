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
