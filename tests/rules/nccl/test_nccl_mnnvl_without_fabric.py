from __future__ import annotations

import pytest
from nccl_launches import findings

from specpreflight.models.finding import Outcome
from specpreflight.models.launch import Hardware
from specpreflight.rules.nccl.nccl_mnnvl_without_fabric import RULE


def test_required_and_not_there() -> None:
    [finding] = findings(RULE, {"NCCL_MNNVL_ENABLE": "1"}, hardware=Hardware(nvlink=False))
    assert finding.outcome is Outcome.CRASHES


@pytest.mark.parametrize(("text", "nvlink"), [("1", True), ("1", None), ("2", False), ("0", False)])
def test_quiet(text: str, nvlink: bool | None) -> None:
    hardware = Hardware(nvlink=nvlink)
    assert findings(RULE, {"NCCL_MNNVL_ENABLE": text}, hardware=hardware) == []
