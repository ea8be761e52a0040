from __future__ import annotations

import pytest
from nccl_launches import findings

from specpreflight.models.finding import Outcome
from specpreflight.rules.nccl.nccl_number_half_read import RULE


@pytest.mark.parametrize(
    ("text", "number", "meant"),
    [
        ("16M", 16, "16777216"),
        ("16MiB", 16, "16777216"),
        ("64kb", 64, "65536"),
        ("1G", 1, str(2**30)),
        ("1e6", 1, "1000000"),
        ("1.5", 1, None),
        ("010", 8, None),
        ("08", 0, None),
        ("1,2", 1, None),
    ],
)
def test_the_end_is_lost(text: str, number: int, meant: str | None) -> None:
    [finding] = findings(RULE, {"NCCL_BUFFSIZE": text})
    assert finding.outcome is Outcome.DEGRADES
    assert finding.message.endswith(f"is read as {number}")
    if meant is None:
        assert finding.remedies == ()
    else:
        assert finding.remedies[0].environment == {"NCCL_BUFFSIZE": meant}


def test_a_comment_is_only_noted() -> None:
    [finding] = findings(RULE, {"NCCL_IB_GID_INDEX": "3 # RoCE v2"})
    assert finding.outcome is Outcome.STARTS


@pytest.mark.parametrize("text", ["16777216", "0x1000000", "8 ", "8\r", "007", "0", "-2", "true"])
def test_quiet(text: str) -> None:
    assert findings(RULE, {"NCCL_BUFFSIZE": text}) == []
