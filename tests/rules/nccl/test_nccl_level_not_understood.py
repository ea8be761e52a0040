from __future__ import annotations

import pytest
from nccl_launches import findings

from specpreflight.models.finding import Outcome
from specpreflight.rules.nccl.nccl_level_not_understood import RULE


@pytest.mark.parametrize(
    ("text", "meant"),
    [("sys", "SYS"), ("NVLINK", "NVL"), ("SYS\r", "SYS"), ('"PHB"', "PHB"), ("system", "SYS")],
)
def test_dropped(text: str, meant: str) -> None:
    [finding] = findings(RULE, {"NCCL_P2P_LEVEL": text})
    assert finding.outcome is Outcome.DEGRADES
    assert finding.remedies[0].environment == {"NCCL_P2P_LEVEL": meant}


@pytest.mark.parametrize(("text", "level"), [("08", "LOC"), ("3abc", "PHB"), ("1.5", "PIX")])
def test_number_read_in_part(text: str, level: str) -> None:
    [finding] = findings(RULE, {"NCCL_P2P_LEVEL": text})
    assert f"is read as {level}" in finding.message


def test_a_name_of_a_later_release() -> None:
    assert findings(RULE, {"NCCL_P2P_LEVEL": "P2C"}, nccl="2.27.3") == []
    assert len(findings(RULE, {"NCCL_P2P_LEVEL": "P2C"}, nccl="2.26.6")) == 1


@pytest.mark.parametrize("text", ["LOC", "NVL", "PIX", "PXB", "PHB", "SYS", "0", "4", ""])
def test_quiet(text: str) -> None:
    assert findings(RULE, {"NCCL_P2P_LEVEL": text, "NCCL_NET_GDR_LEVEL": text}) == []
