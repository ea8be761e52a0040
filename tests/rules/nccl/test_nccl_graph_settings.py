from __future__ import annotations

import pytest
from nccl_launches import findings

from specpreflight.models.finding import Outcome, Severity
from specpreflight.rules.nccl.nccl_graph_settings import RULE

PARALLEL = {"tp-size": "8"}


@pytest.mark.parametrize(("engine", "forced"), [("sglang@0.5.22", False), ("sglang@0.5.23", True)])
def test_registration_that_the_engine_keeps_off(engine: str, forced: bool) -> None:
    found = findings(RULE, {"NCCL_GRAPH_REGISTER": "1"}, engine=engine, flags=PARALLEL)
    assert bool(found) is forced
    assert all(finding.outcome is Outcome.HANGS for finding in found)


def test_mixing_and_stream_order() -> None:
    [mixing] = findings(RULE, {"NCCL_GRAPH_MIXING_SUPPORT": "0"})
    assert mixing.severity is Severity.WARNING
    [order] = findings(RULE, {"NCCL_GRAPH_STREAM_ORDERING": "0"}, nccl="2.30.7")
    assert "STREAM_ORDERING" in order.message


@pytest.mark.parametrize(
    "environment",
    [
        {"NCCL_GRAPH_REGISTER": "0"},
        {"NCCL_GRAPH_REGISTER": "1"},
        {"NCCL_GRAPH_MIXING_SUPPORT": "1"},
        {"NCCL_GRAPH_STREAM_ORDERING": "0"},
    ],
)
def test_quiet(environment: dict[str, str]) -> None:
    assert findings(RULE, environment) == []


def test_quiet_where_the_engine_sets_it() -> None:
    environment = {"NCCL_GRAPH_MIXING_SUPPORT": "0"}
    assert findings(RULE, environment, engine="sglang@0.5.15", flags={"dcp-size": "2"}) == []
