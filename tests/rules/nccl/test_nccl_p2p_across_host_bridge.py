from __future__ import annotations

import pytest
from nccl_launches import findings

from specpreflight.models.finding import Outcome, Severity
from specpreflight.models.launch import Hardware
from specpreflight.models.topology import Topology
from specpreflight.rules.nccl.nccl_p2p_across_host_bridge import RULE


def machine(link: str, *, nvlink: bool = False) -> Hardware:
    return Hardware(nvlink=nvlink, topology=Topology("test", (("X", link), (link, "X"))))


@pytest.mark.parametrize(
    ("level", "link", "outcome"),
    [
        ("SYS", "SYS", Outcome.DEGRADES),
        ("4", "SYS", Outcome.DEGRADES),
        ("SYS", "NODE", Outcome.HANGS),
        ("PHB", "PHB", Outcome.HANGS),
    ],
)
def test_reported(level: str, link: str, outcome: Outcome) -> None:
    [finding] = findings(RULE, {"NCCL_P2P_LEVEL": level}, hardware=machine(link))
    assert finding.outcome is outcome
    assert finding.severity is Severity.WARNING


@pytest.mark.parametrize(
    ("environment", "hardware"),
    [
        ({"NCCL_P2P_LEVEL": "SYS"}, machine("PIX")),
        ({"NCCL_P2P_LEVEL": "PXB"}, machine("SYS")),
        ({"NCCL_P2P_LEVEL": "SYS"}, machine("NV18", nvlink=True)),
        ({"NCCL_P2P_LEVEL": "SYS"}, Hardware(nvlink=False)),
        ({"NCCL_P2P_LEVEL": "SYS", "NCCL_P2P_DISABLE": "1"}, machine("SYS")),
        ({}, machine("SYS")),
    ],
)
def test_quiet(environment: dict[str, str], hardware: Hardware) -> None:
    assert findings(RULE, environment, hardware=hardware) == []
