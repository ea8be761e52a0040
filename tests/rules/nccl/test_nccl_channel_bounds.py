from __future__ import annotations

import pytest
from nccl_launches import findings

from specpreflight.models.finding import Outcome, Severity
from specpreflight.rules.nccl.nccl_channel_bounds import RULE


@pytest.mark.parametrize(("kind", "taken"), [("NCHANNELS", 16), ("CTAS", 8)])
def test_crossed(kind: str, taken: int) -> None:
    [finding] = findings(RULE, {f"NCCL_MIN_{kind}": "16", f"NCCL_MAX_{kind}": "8"})
    assert finding.outcome is Outcome.ADJUSTS
    assert finding.severity is Severity.WARNING
    assert finding.message.endswith(f"NCCL takes {taken}")


@pytest.mark.parametrize("count", ["1", "2"])
def test_too_few(count: str) -> None:
    [finding] = findings(RULE, {"NCCL_MAX_NCHANNELS": count})
    assert finding.outcome is Outcome.DEGRADES


def test_no_channel_at_all_up_to_2_24() -> None:
    [finding] = findings(RULE, {"NCCL_MAX_CTAS": "0"}, nccl="2.24.3")
    assert finding.outcome is Outcome.CRASHES
    assert findings(RULE, {"NCCL_MAX_CTAS": "0"}, nccl="2.25.1") == []


@pytest.mark.parametrize(
    "environment",
    [
        {"NCCL_MAX_NCHANNELS": "16"},
        {"NCCL_MAX_NCHANNELS": "3"},
        {"NCCL_MIN_NCHANNELS": "8", "NCCL_MAX_NCHANNELS": "8"},
        {"NCCL_MIN_CTAS": "8"},
    ],
)
def test_quiet(environment: dict[str, str]) -> None:
    assert findings(RULE, environment) == []
