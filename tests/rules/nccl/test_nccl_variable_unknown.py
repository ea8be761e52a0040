from __future__ import annotations

import pytest
from nccl_launches import findings

from specpreflight.models.finding import Outcome
from specpreflight.rules.nccl.nccl_variable_unknown import RULE


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("NCCL_MIN_CHANNELS", "NCCL_MIN_NCHANNELS or NCCL_MIN_CTAS"),
        ("NCCL_NCHANNELS", "NCCL_MIN_NCHANNELS or NCCL_MAX_NCHANNELS"),
        ("NCCL_BUFFER_SIZE", "NCCL_BUFFSIZE"),
        ("NCCL_IB_TIME_OUT", "NCCL_IB_TIMEOUT"),
        ("NCCL_SOCKET_IFNAM", "NCCL_SOCKET_IFNAME"),
        ("NCCL_DEUBG", "NCCL_DEBUG"),
        ("nccl_algo", "NCCL_ALGO"),
    ],
)
def test_did_you_mean(name: str, meant: str) -> None:
    [finding] = findings(RULE, {name: "1"})
    assert finding.outcome is Outcome.DEGRADES
    assert finding.message == f"{name} is read by nobody; did you mean {meant}?"


def test_a_name_like_no_other() -> None:
    [finding] = findings(RULE, {"NCCL_TIMEOUT": "600"})
    assert finding.message == "NCCL_TIMEOUT is read by nobody"
    assert "dist-timeout" in finding.detail


@pytest.mark.parametrize(
    "name",
    [
        "NCCL_ALGO",
        "NCCL_VERSION",
        "NCCL_HOME",
        "NCCL_BLOCKING_WAIT",
        "NCCL_FASTRAK_NUM_FLOWS",
        "NCCL_TREE_THRESHOLD",
        "TORCH_NCCL_BLOCKING_WAIT",
        "OFI_NCCL_PROTOCOL",
    ],
)
def test_quiet(name: str) -> None:
    assert findings(RULE, {name: "1"}) == []
