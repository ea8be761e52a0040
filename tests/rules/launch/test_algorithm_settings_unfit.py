"""Settings of one algorithm, good and bad."""

from __future__ import annotations

from pathlib import Path

import pytest
from launches import LLAMA, change, outcomes

RULE = "algorithm-settings-unfit"
DFLASH = change(
    LLAMA,
    architectures=["DFlashDraftModel"],
    num_hidden_layers=5,
    dflash_config={"target_layer_ids": [1, 9, 17, 25, 29], "mask_token_id": 128002},
)


@pytest.mark.parametrize(
    ("version", "flags", "expected"),
    [
        ("0.5.12", ("--speculative-dflash-block-size", "8"), []),
        ("0.5.12", ("--speculative-dflash-block-size", "0"), ["refuses"]),
        (
            "0.5.12",
            ("--speculative-dflash-block-size", "8", "--speculative-num-draft-tokens", "16"),
            ["refuses"],
        ),
        ("0.5.13", ("--speculative-draft-window-size", "0"), ["refuses"]),
    ],
)
def test_settings_of_dflash(
    tmp_path: Path, version: str, flags: tuple[str, ...], expected: list[str]
) -> None:
    words = ("--speculative-algorithm", "DFLASH", *flags)
    got = outcomes(tmp_path, RULE, version, *words, draft=DFLASH, hardware="h100")
    assert got[:1] == expected
