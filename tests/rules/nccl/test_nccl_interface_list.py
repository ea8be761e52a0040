from __future__ import annotations

import pytest
from nccl_launches import findings

from specpreflight.models.finding import Outcome
from specpreflight.models.launch import Hardware
from specpreflight.rules.nccl.nccl_interface_list import RULE


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("^lo,^docker", "^lo,docker"),
        ("=eth0,=eth1", "=eth0,eth1"),
        ("eth0, eth1", "eth0,eth1"),
        ('"eth0"', "eth0"),
        ("eth0;eth1", "eth0,eth1"),
        ("eth*", "eth"),
    ],
)
def test_odd_lists(text: str, meant: str) -> None:
    [finding] = findings(RULE, {"NCCL_SOCKET_IFNAME": text})
    assert finding.outcome is Outcome.DEGRADES
    assert finding.remedies[0].environment == {"NCCL_SOCKET_IFNAME": meant}


@pytest.mark.parametrize(("count", "reported"), [(16, False), (17, True)])
def test_entries_beyond_the_sixteenth_do_not_count(count: int, reported: bool) -> None:
    text = ",".join(f"eth{number}" for number in range(count))
    assert bool(findings(RULE, {"NCCL_SOCKET_IFNAME": text})) is reported


def test_nothing_on_the_machine() -> None:
    machine = Hardware(interfaces=("lo", "eth0"), hcas=("mlx5_0:1",))
    [interface] = findings(RULE, {"NCCL_SOCKET_IFNAME": "eth2"}, hardware=machine)
    assert interface.outcome is Outcome.CRASHES
    assert interface.engine_message == "Bootstrap : no socket interface found"
    [adapter] = findings(RULE, {"NCCL_IB_HCA": "mlx5_7"}, hardware=machine)
    assert adapter.outcome is Outcome.DEGRADES
    assert findings(RULE, {"NCCL_SOCKET_IFNAME": "eth"}, hardware=machine) == []


def test_an_interface_that_is_not_running_counts_up_to_2_27() -> None:
    assert findings(RULE, {"NCCL_SOCKET_IFNAME": "eth9"}) == []


def test_invalid_address() -> None:
    [finding] = findings(RULE, {"NCCL_COMM_ID": "::1"})
    assert finding.outcome is Outcome.CRASHES
    assert findings(RULE, {"NCCL_COMM_ID": "[::1]:23456"}) == []


@pytest.mark.parametrize("text", ["eth0", "=eth0", "^lo,docker0", "^=lo,docker0", "eth0:1", "e"])
def test_quiet(text: str) -> None:
    assert findings(RULE, {"NCCL_SOCKET_IFNAME": text}) == []
