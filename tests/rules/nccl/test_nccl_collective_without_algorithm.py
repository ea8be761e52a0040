from __future__ import annotations

import pytest
from nccl_launches import findings

from specpreflight.models.finding import Outcome
from specpreflight.models.launch import Hardware
from specpreflight.rules.nccl.nccl_collective_without_algorithm import RULE


@pytest.mark.parametrize(
    ("nccl", "stops"),
    [
        ("2.6.4", True),
        ("2.7.3", False),
        ("2.18.6", False),
        ("2.23.4", False),
        ("2.24.3", True),
        ("2.30.7", True),
    ],
)
def test_tree_alone(nccl: str, stops: bool) -> None:
    found = findings(RULE, {"NCCL_ALGO": "Tree"}, nccl=nccl)
    assert bool(found) is stops
    for finding in found:
        assert finding.outcome is Outcome.CRASHES
        assert "Broadcast" in finding.message


@pytest.mark.parametrize(
    ("environment", "message"),
    [
        ({"NCCL_ALGO": "NVLS"}, "leaves no algorithm for Broadcast, Reduce"),
        ({"NCCL_ALGO": "PAT"}, "leaves no algorithm for AllReduce, Broadcast, Reduce"),
        ({"NCCL_ALGO": ","}, "leaves no algorithm for any collective"),
        ({"NCCL_ALGO": "^Ring"}, "leaves no algorithm for Broadcast, Reduce"),
        ({"NCCL_ALGO": "ring;allreduce:nvls", "NCCL_PROTO": "LL"}, "for AllReduce"),
        ({"NCCL_ALGO": "ring;allreduce:collnetdirect"}, "for AllReduce"),
    ],
)
def test_other_lists(environment: dict[str, str], message: str) -> None:
    [finding] = findings(RULE, environment)
    assert message in finding.message


def test_nvls_for_all_reduce_needs_nvlink() -> None:
    environment = {"NCCL_ALGO": "ring;allreduce:nvls"}
    assert findings(RULE, environment) == []
    assert findings(RULE, environment, hardware=Hardware(nvlink=True)) == []
    [finding] = findings(RULE, environment, hardware=Hardware(nvlink=False))
    assert "AllReduce" in finding.message


@pytest.mark.parametrize(
    "text", ["Ring", "ring;allreduce:tree", "allreduce:tree", "^Tree", "ring,tree", ""]
)
def test_quiet(text: str) -> None:
    assert findings(RULE, {"NCCL_ALGO": text}) == []
