from __future__ import annotations

from nccl_launches import findings

from specpreflight.models.finding import Origin, Outcome
from specpreflight.rules.nccl.nccl_conf_overruled import RULE

CONF = Origin("file", path="/etc/nccl.conf", line=3, column=1)


def test_the_engine_fills_the_gap_first() -> None:
    [finding] = findings(RULE, {"NCCL_NVLS_ENABLE": "1"}, origin=CONF)
    assert finding.outcome is Outcome.DEGRADES
    assert finding.values[1].value == "0"


def test_quiet() -> None:
    assert findings(RULE, {"NCCL_NVLS_ENABLE": "0"}, origin=CONF) == []
    assert findings(RULE, {"NCCL_PROTO": "LL"}, origin=CONF) == []
    assert findings(RULE, {"NCCL_NVLS_ENABLE": "1"}) == []
