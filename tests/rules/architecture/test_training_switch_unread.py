"""Switches of training scripts, against the releases that read them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from launches import EAGLE3_FLAGS, LLAMA_EAGLE3, change, found, make_launch, outcomes

from specpreflight.api import check

RULE = "training-switch-unread"


def draft(**keys: Any) -> dict[str, Any]:
    return change(LLAMA_EAGLE3, **keys)


@pytest.mark.parametrize(
    ("version", "keys", "expected"),
    [
        ("0.4.6.post5", {"norm_before_residual": True}, ["degrades"]),
        ("0.5.23", {"norm_before_residual": True}, ["degrades"]),
        ("0.5.23", {"norm_before_residual": False}, []),
        ("0.5.16", {"norm_before_fc": True}, ["degrades"]),
        ("0.5.17", {"norm_before_fc": True}, []),
        ("0.5.16", {"eagle_config": {"norm_before_fc": True}}, ["degrades"]),
        ("0.5.17", {"eagle_config": {"norm_before_fc": True}}, []),
        ("0.5.11", {"fc_norm": True, "norm_output": True}, ["degrades", "degrades"]),
        ("0.5.12", {"fc_norm": True, "norm_output": True}, []),
        ("0.5.12", {"eagle_config": {"fc_norm": True}}, ["degrades"]),
        ("0.5.11", {"eagle_config": None}, []),
    ],
)
def test_switch_by_release(
    tmp_path: Path, version: str, keys: dict[str, Any], expected: list[str]
) -> None:
    assert outcomes(tmp_path, RULE, version, *EAGLE3_FLAGS, draft=draft(**keys)) == expected


@pytest.mark.parametrize(
    ("keys", "way_out"),
    [
        ({"norm_before_fc": True}, "use SGLang 0.5.17 or later"),
        ({"norm_before_residual": True}, "use a draft that was trained without it"),
        ({"eagle_config": {"fc_norm": True}}, "state `fc_norm` at the top of the config"),
    ],
)
def test_way_out(tmp_path: Path, keys: dict[str, Any], way_out: str) -> None:
    launch = make_launch(tmp_path, None, draft(**keys), engine="sglang@0.5.16")
    (finding,) = found(check(launch), RULE)
    assert finding.remedies[0].title.startswith(way_out)
