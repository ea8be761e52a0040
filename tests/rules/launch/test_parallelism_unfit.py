"""What a user sees, on both sides of each version gate."""

from __future__ import annotations

from pathlib import Path

import pytest
from launches import EAGLE3_FLAGS, outcomes

EAGLE3 = ("--speculative-algorithm", "EAGLE3")
CHAIN = EAGLE3_FLAGS


@pytest.mark.parametrize("version", ["0.4.9.post6", "0.5.9", "0.5.19", "0.5.23"])
def test_pipeline_stages_refuse_eagle3(tmp_path: Path, version: str) -> None:
    words = (*CHAIN, "--pp-size", "2")
    assert set(outcomes(tmp_path, "parallelism-unfit", version, *words)) == {"refuses"}


@pytest.mark.parametrize(
    ("tp", "dp", "expected"), [(8, 2, []), (8, 3, ["refuses"]), (2, 4, ["refuses"])]
)
def test_dp_attention_divides_tp(tmp_path: Path, tp: int, dp: int, expected: list[str]) -> None:
    words = (*CHAIN, "--tp-size", str(tp), "--dp-size", str(dp), "--enable-dp-attention")
    assert outcomes(tmp_path, "parallelism-unfit", "0.5.9", *words) == expected


def test_tensor_parallelism_alone_is_fine(tmp_path: Path) -> None:
    assert outcomes(tmp_path, "parallelism-unfit", "0.5.23", *CHAIN, "--tp-size", "8") == []
