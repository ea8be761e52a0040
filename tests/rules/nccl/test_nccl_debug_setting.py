from __future__ import annotations

import pytest
from nccl_launches import findings

from specpreflight.models.finding import Outcome
from specpreflight.rules.nccl.nccl_debug_setting import RULE


@pytest.mark.parametrize(
    ("text", "nccl", "silent"),
    [
        ("DEBUG", "2.27.5", True),
        ("VERBOSE", "2.30.7", True),
        ("INFO ", "2.30.4", True),
        ("INFO ", "2.30.7", False),
        ("info", "2.27.5", False),
        ("ATTN", "2.30.7", True),
        ("ATTN", "2.32.3", False),
        ("", "2.27.5", False),
    ],
)
def test_level(text: str, nccl: str, silent: bool) -> None:
    found = findings(RULE, {"NCCL_DEBUG": text}, nccl=nccl)
    assert bool(found) is silent
    assert all(finding.outcome is Outcome.DEGRADES for finding in found)


@pytest.mark.parametrize(
    ("text", "nccl", "lost"),
    [("INIT,foo", "2.29.7", False), ("INIT,foo", "2.30.7", True), ("foo", "2.29.7", True)],
)
def test_subsystems(text: str, nccl: str, lost: bool) -> None:
    found = findings(RULE, {"NCCL_DEBUG_SUBSYS": text}, nccl=nccl)
    assert bool(found) is lost
    assert all(finding.outcome is Outcome.STARTS for finding in found)


@pytest.mark.parametrize(
    "environment",
    [{"NCCL_DEBUG": "TRACE"}, {"NCCL_CHECK_POINTERS": "1"}, {"NCCL_CHECK_MODE": "debug_global"}],
)
def test_left_on(environment: dict[str, str]) -> None:
    [finding] = findings(RULE, environment, nccl="2.30.7")
    assert finding.outcome is Outcome.DEGRADES
