from __future__ import annotations

from pathlib import Path

import pytest
from launches import bare_launch

from specpreflight.models.finding import Outcome, Stage
from specpreflight.models.resolved import Event, Resolved
from specpreflight.rules.launch.engine_refuses import RULE

EVENT = Event(
    "arguments.something-new",
    Outcome.REFUSES,
    Stage.ARGUMENTS,
    "`--x` and `--y` exclude each other",
    engine_message="x and y",
    source="server_args.py:check_server_args",
)


def test_a_stop_that_no_rule_claims_is_never_lost(tmp_path: Path) -> None:
    [finding] = RULE.check(bare_launch(tmp_path), Resolved({}, (EVENT,)))
    assert finding.engine_message == "x and y"
    assert finding.stage is Stage.ARGUMENTS
    assert finding.order == 0


@pytest.mark.parametrize("outcome", [Outcome.ADJUSTS, Outcome.STARTS, Outcome.DEGRADES])
def test_what_does_not_stop_the_launch_is_not_reported_here(
    tmp_path: Path, outcome: Outcome
) -> None:
    event = Event("arguments.x", outcome, Stage.ARGUMENTS, "adjusted")
    assert list(RULE.check(bare_launch(tmp_path), Resolved({}, (event,)))) == []
