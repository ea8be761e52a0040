from __future__ import annotations

from pathlib import Path

from weight_launches import judge_twin

from specpreflight.models.finding import Outcome

RULE = "names-differ-in-case"


def test_two_configs(tmp_path: Path) -> None:
    [finding] = judge_twin(RULE, tmp_path)
    assert finding.outcome is Outcome.STARTS
    assert finding.message == "Config.json and config.json of the draft differ in case only"


def test_quiet_without(tmp_path: Path) -> None:
    assert judge_twin(RULE, tmp_path, damage=lambda draft, target: None) == []
