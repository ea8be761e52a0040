from __future__ import annotations

import pytest
from nccl_launches import findings

from specpreflight.models.finding import Outcome
from specpreflight.rules.nccl.nccl_number_out_of_range import RULE


@pytest.mark.parametrize(
    ("name", "text", "outcome", "part"),
    [
        ("NCCL_NTHREADS", "100", Outcome.DEGRADES, "becomes 512"),
        ("NCCL_NTHREADS", "513", Outcome.DEGRADES, "becomes 512"),
        ("NCCL_NTHREADS", "32", Outcome.DEGRADES, "becomes 64"),
        ("NCCL_LL128_NTHREADS", "128", Outcome.DEGRADES, "becomes 160"),
        ("NCCL_BUFFSIZE", "2147483648", Outcome.CRASHES, "-2147483648 bytes"),
        ("NCCL_BUFFSIZE", "0", Outcome.CRASHES, "0 bytes"),
        ("NCCL_LL_BUFFSIZE", "4095", Outcome.DEGRADES, "4095 bytes"),
        ("NCCL_IB_TIMEOUT", "32", Outcome.DEGRADES, "0 to 31"),
        ("NCCL_MAX_CTAS", "9223372036854775808", Outcome.DEGRADES, "64 bits"),
        ("NCCL_CROSS_NIC", "4294967296", Outcome.DEGRADES, "32 bits"),
    ],
)
def test_changed(name: str, text: str, outcome: Outcome, part: str) -> None:
    [finding] = findings(RULE, {name: text})
    assert finding.outcome is outcome
    assert part in finding.message


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("NCCL_NTHREADS", "512"),
        ("NCCL_NTHREADS", "64"),
        ("NCCL_NTHREADS", "-2"),
        ("NCCL_LL128_NTHREADS", "160"),
        ("NCCL_BUFFSIZE", "4096"),
        ("NCCL_BUFFSIZE", "2147483647"),
        ("NCCL_BUFFSIZE", "16M"),
        ("NCCL_BUFFSIZE", "-2"),
        ("NCCL_IB_TIMEOUT", "31"),
        ("NCCL_MAX_CTAS", "64"),
    ],
)
def test_quiet(name: str, text: str) -> None:
    assert findings(RULE, {name: text}) == []
