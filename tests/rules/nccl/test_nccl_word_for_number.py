from __future__ import annotations

import pytest
from nccl_launches import findings

from specpreflight.models.finding import Outcome
from specpreflight.rules.nccl.nccl_word_for_number import RULE


@pytest.mark.parametrize("name", ["NCCL_P2P_DISABLE", "NCCL_IB_DISABLE", "NCCL_NVLS_ENABLE"])
@pytest.mark.parametrize(("text", "meant"), [("true", "1"), ("Yes", "1"), ('"1"', "1")])
def test_read_as_zero(name: str, text: str, meant: str) -> None:
    [finding] = findings(RULE, {name: text})
    assert finding.outcome is Outcome.DEGRADES
    assert finding.remedies[0].environment == {name: meant}


def test_words_that_mean_zero_are_only_noted() -> None:
    [finding] = findings(RULE, {"NCCL_IB_DISABLE": "off"})
    assert finding.outcome is Outcome.STARTS


def test_the_typed_parser_of_2_30_7_takes_words() -> None:
    assert len(findings(RULE, {"NCCL_SET_THREAD_NAME": "true"}, nccl="2.30.4")) == 1
    assert findings(RULE, {"NCCL_SET_THREAD_NAME": "true"}, nccl="2.30.7") == []


@pytest.mark.parametrize("text", ["1", "0", "", " 1", "0x1", "-2", "16M"])
def test_quiet(text: str) -> None:
    assert findings(RULE, {"NCCL_IB_DISABLE": text, "NCCL_P2P_DISABLE": text}) == []
