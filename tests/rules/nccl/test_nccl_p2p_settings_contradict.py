from __future__ import annotations

import pytest
from nccl_launches import findings

from specpreflight.models.finding import Confidence, Outcome, Severity
from specpreflight.rules.nccl.nccl_p2p_settings_contradict import RULE


def test_a_level_that_is_never_read() -> None:
    [finding] = findings(RULE, {"NCCL_P2P_DISABLE": "1", "NCCL_P2P_LEVEL": "NVL"})
    assert finding.outcome is Outcome.HANGS
    assert finding.severity is Severity.WARNING
    assert finding.confidence is Confidence.OBSERVED


@pytest.mark.parametrize("text", ["2", "-1", "0x2"])
def test_only_one_disables(text: str) -> None:
    [finding] = findings(RULE, {"NCCL_P2P_DISABLE": text})
    assert finding.outcome is Outcome.DEGRADES
    assert "leaves P2P on" in finding.message


@pytest.mark.parametrize(
    "environment",
    [
        {"NCCL_P2P_DISABLE": "1"},
        {"NCCL_P2P_DISABLE": "0", "NCCL_P2P_LEVEL": "SYS"},
        {"NCCL_P2P_DISABLE": "", "NCCL_P2P_LEVEL": "SYS"},
        {"NCCL_P2P_LEVEL": "SYS"},
    ],
)
def test_quiet(environment: dict[str, str]) -> None:
    assert findings(RULE, environment) == []
