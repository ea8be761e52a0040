from __future__ import annotations

import pytest
from nccl_launches import findings

from specpreflight.models.finding import Outcome
from specpreflight.models.launch import Hardware
from specpreflight.rules.nccl.nccl_cumem_conflict import RULE

ON, OFF = {"NCCL_CUMEM_ENABLE": "1"}, {"NCCL_CUMEM_ENABLE": "0"}


@pytest.mark.parametrize(
    ("nccl", "costs"), [("2.18.6", False), ("2.19.1", True), ("2.21.5", True), ("2.22.3", False)]
)
def test_memory_of_captured_graphs(nccl: str, costs: bool) -> None:
    found = findings(RULE, ON, nccl=nccl)
    assert bool(found) is costs
    assert all(finding.outcome is Outcome.CRASHES for finding in found)


@pytest.mark.parametrize(
    ("engine", "warns"), [("vllm@0.9.1", True), ("vllm@0.10.1.1", True), ("vllm@0.10.2", False)]
)
def test_vllm_says_so_itself(engine: str, warns: bool) -> None:
    found = findings(RULE, ON, engine=engine)
    assert bool(found) is warns
    assert all("skipping override" in (finding.engine_message or "") for finding in found)


def test_what_needs_cumem() -> None:
    [fabric] = findings(RULE, {**OFF, "NCCL_MNNVL_ENABLE": "1"})
    assert fabric.outcome is Outcome.CRASHES
    flags = {"moe-a2a-backend": "deepep_v2"}
    [buffer] = findings(RULE, OFF, engine="sglang@0.5.19", flags=flags)
    assert buffer.outcome is Outcome.CRASHES
    tray = Hardware(profile="gb200", nodes=2)
    [nodes] = findings(RULE, OFF, hardware=tray, flags={"nnodes": "2"})
    assert nodes.outcome is Outcome.DEGRADES


@pytest.mark.parametrize("environment", [OFF, ON, {}, {"NCCL_CUMEM_ENABLE": "-2"}])
def test_quiet(environment: dict[str, str]) -> None:
    assert findings(RULE, environment) == []
