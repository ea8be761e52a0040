from __future__ import annotations

import pytest
from nccl_launches import findings

from specpreflight.models.finding import Outcome, Severity
from specpreflight.models.launch import Hardware
from specpreflight.rules.nccl.nccl_nvls_forced import RULE


def test_set_up_and_never_used() -> None:
    [finding] = findings(RULE, {"NCCL_NVLS_ENABLE": "1", "NCCL_ALGO": "Ring"})
    assert finding.outcome is Outcome.HANGS
    assert finding.severity is Severity.WARNING
    assert len(finding.values) == 2


def test_without_nvlink() -> None:
    assert findings(RULE, {"NCCL_NVLS_ENABLE": "1"}, hardware=Hardware(nvlink=True)) == []
    [finding] = findings(RULE, {"NCCL_NVLS_ENABLE": "1"}, hardware=Hardware(nvlink=False))
    assert "no NVLink" in finding.message


@pytest.mark.parametrize(
    "environment",
    [
        {"NCCL_NVLS_ENABLE": "1"},
        {"NCCL_NVLS_ENABLE": "2", "NCCL_ALGO": "Ring"},
        {"NCCL_NVLS_ENABLE": "0", "NCCL_ALGO": "Ring"},
        {"NCCL_NVLS_ENABLE": "1", "NCCL_ALGO": "Ring,NVLS"},
        {"NCCL_NVLS_ENABLE": "1", "NCCL_ALGO": "^Tree"},
    ],
)
def test_quiet(environment: dict[str, str]) -> None:
    assert findings(RULE, environment) == []
