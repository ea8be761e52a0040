from __future__ import annotations

import pytest
from nccl_launches import findings

from specpreflight.models.finding import Outcome
from specpreflight.rules.nccl.nccl_list_not_understood import RULE


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("NCCL_ALGO", '"Ring"', 'Unrecognized element token ""Ring"" when parsing ""Ring""'),
        ("NCCL_ALGO", "Ring\r", 'Unrecognized element token "Ring\r" when parsing "Ring\r"'),
        ("NCCL_PROTO", "LL, Simple", 'Unrecognized element token " Simple" when parsing'),
        ("NCCL_ALGO", "ring;tree", "All entries except the first must have a prefix"),
        ("NCCL_ALGO", "all_reduce:tree", 'Unrecognized prefix token "all_reduce"'),
    ],
)
def test_refused_from_2_24_on(name: str, text: str, message: str) -> None:
    [finding] = findings(RULE, {name: text}, nccl="2.24.3")
    assert finding.outcome is Outcome.CRASHES
    assert finding.engine_message is not None
    assert finding.engine_message.startswith(message)


def test_dropped_without_a_word_up_to_2_23() -> None:
    [finding] = findings(RULE, {"NCCL_ALGO": '"Ring"'}, nccl="2.23.4")
    assert finding.outcome is Outcome.DEGRADES
    assert finding.remedies[0].environment == {"NCCL_ALGO": "Ring"}


def test_a_null_list_crashes_without_a_message() -> None:
    [finding] = findings(RULE, {"NCCL_ALGO": ":"})
    assert finding.outcome is Outcome.CRASHES
    assert finding.engine_message is None
    assert findings(RULE, {"NCCL_ALGO": "ring:"}) == []


@pytest.mark.parametrize("text", ["Ring", "RING,tree", "^Ring", "", ",Ring", "allreduce:tree"])
def test_quiet(text: str) -> None:
    assert findings(RULE, {"NCCL_ALGO": text}) == []


def test_quiet_where_the_engine_replaces_it() -> None:
    flags = {"enable-deterministic-inference": True, "tp-size": "8"}
    assert findings(RULE, {"NCCL_ALGO": '"Ring"'}, flags=flags) == []
