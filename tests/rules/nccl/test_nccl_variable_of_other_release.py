from __future__ import annotations

import pytest
from nccl_launches import findings

from specpreflight.models.finding import Outcome
from specpreflight.rules.nccl.nccl_variable_of_other_release import RULE


@pytest.mark.parametrize(
    ("name", "nccl", "part"),
    [
        ("NCCL_TREE_THRESHOLD", "2.27.5", "gone since 2.5.6"),
        ("NCCL_WORK_FIFO_DEPTH", "2.22.3", "gone since 2.22.3"),
        ("NCCL_CTA_POLICY", "2.26.6", "known from 2.27.3 on"),
        ("NCCL_DEBUG_LEVELS", "2.30.7", "known from 2.32.3 on"),
    ],
)
def test_not_read(name: str, nccl: str, part: str) -> None:
    [finding] = findings(RULE, {name: "1"}, nccl=nccl)
    assert finding.outcome is Outcome.DEGRADES
    assert part in finding.message


@pytest.mark.parametrize(
    ("name", "nccl"),
    [
        ("NCCL_WORK_FIFO_DEPTH", "2.21.5"),
        ("NCCL_CTA_POLICY", "2.27.3"),
        ("NCCL_ALGO", "2.18.6"),
        ("NCCL_MIN_CHANNELS", "2.27.5"),
        ("NCCL_EP_DEBUG", "2.27.5"),
    ],
)
def test_quiet(name: str, nccl: str) -> None:
    assert findings(RULE, {name: "1"}, nccl=nccl) == []
