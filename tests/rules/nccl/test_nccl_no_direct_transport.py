from __future__ import annotations

import pytest
from nccl_launches import findings

from specpreflight.models.finding import Outcome
from specpreflight.rules.nccl.nccl_no_direct_transport import RULE


@pytest.mark.parametrize("direct", [{"NCCL_P2P_DISABLE": "1"}, {"NCCL_P2P_LEVEL": "LOC"}])
def test_only_the_network_is_left(direct: dict[str, str]) -> None:
    [finding] = findings(RULE, {**direct, "NCCL_SHM_DISABLE": "1"})
    assert finding.outcome is Outcome.DEGRADES


@pytest.mark.parametrize(
    "environment",
    [
        {"NCCL_P2P_DISABLE": "1"},
        {"NCCL_SHM_DISABLE": "1"},
        {"NCCL_P2P_DISABLE": "1", "NCCL_SHM_DISABLE": "0"},
        {"NCCL_P2P_DISABLE": "true", "NCCL_SHM_DISABLE": "1"},
    ],
)
def test_quiet(environment: dict[str, str]) -> None:
    assert findings(RULE, environment) == []
