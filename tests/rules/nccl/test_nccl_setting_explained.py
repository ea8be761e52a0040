from __future__ import annotations

import pytest
from nccl_launches import STORY, counted, findings

from specpreflight.models.finding import Outcome
from specpreflight.rules.nccl.nccl_setting_explained import RULE


@pytest.mark.parametrize("nccl", ["2.18.6", "2.21.5", "2.24.3", "2.27.5", "2.30.7", "2.32.3"])
def test_the_set_of_the_incident_is_explained_and_not_blamed(nccl: str) -> None:
    found = findings(RULE, STORY, nccl=nccl)
    assert sorted(finding.values[0].label for finding in found) == sorted(STORY)
    assert all(finding.outcome is Outcome.STARTS and finding.detail for finding in found)
    assert counted(STORY, nccl=nccl) == []


def test_a_buffer_that_the_protocol_does_not_use() -> None:
    [buffer] = [one for one in findings(RULE, STORY) if one.values[0].label == "NCCL_BUFFSIZE"]
    assert "21.2 MiB" in buffer.detail
    assert "NCCL_LL_BUFFSIZE" in buffer.detail
    [alone] = findings(RULE, {"NCCL_BUFFSIZE": "16777216"})
    assert "NCCL_LL_BUFFSIZE" not in alone.detail


def test_others_that_read_a_name() -> None:
    found = findings(RULE, {"NCCL_IB_DISABLE": "1", "NCCL_P2P_DISABLE": "1"})
    assert all(finding.detail for finding in found)


@pytest.mark.parametrize("name", ["NCCL_MIN_CHANNELS", "NCCL_TREE_THRESHOLD"])
def test_what_is_not_read_is_not_explained(name: str) -> None:
    assert findings(RULE, {name: "1"}) == []
