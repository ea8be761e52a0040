from __future__ import annotations

import pytest
from nccl_launches import findings

from specpreflight.models.finding import Outcome, Severity
from specpreflight.models.launch import Hardware
from specpreflight.rules.nccl.nccl_ll128_forced import RULE


@pytest.mark.parametrize("text", ["LL128", "^LL", "^Simple", "^", "LL,LL128", "allreduce:LL128"])
@pytest.mark.parametrize("nccl", ["2.24.3", "2.30.7"])
def test_forced(text: str, nccl: str) -> None:
    [finding] = findings(RULE, {"NCCL_PROTO": text}, nccl=nccl, hardware=Hardware(nvlink=False))
    assert finding.outcome is Outcome.WRONG_OUTPUT
    assert finding.severity is None
    [unsure] = findings(RULE, {"NCCL_PROTO": text}, nccl=nccl)
    assert unsure.severity is Severity.WARNING


@pytest.mark.parametrize("text", ["LL", "LL,Simple", "^LL128", "", "allreduce:LL"])
def test_quiet(text: str) -> None:
    assert findings(RULE, {"NCCL_PROTO": text}, hardware=Hardware(nvlink=False)) == []


def test_quiet_over_nvlink() -> None:
    assert findings(RULE, {"NCCL_PROTO": "LL128"}, hardware=Hardware(nvlink=True)) == []
