"""The written checkpoints are sound where they should be, and each broken twin is noticed."""

from __future__ import annotations

from pathlib import Path

import pytest
from broken_checkpoints import TWINS
from make_checkpoints import FORMATS, llama_target
from weight_launches import judge, judge_twin, launch_with

from specpreflight.models.weights import loader_of
from specpreflight.rules.registry import load_rules
from specpreflight.sources.weight_index import read_weights

ABOUT_WEIGHTS = {
    rule.name for rule in load_rules() if rule.check.__module__.split(".")[2] == "weights"
}


@pytest.mark.parametrize("name", FORMATS)
def test_sound_checkpoints_have_no_problems_and_load_completely(tmp_path: Path, name: str) -> None:
    make, algorithm = FORMATS[name]
    draft = make().write(tmp_path / "draft")
    target = llama_target().write(tmp_path / "target")
    table = read_weights(draft)
    assert table.problems == ()
    if name == "eagle3-speculators":
        return
    own = algorithm == "NEXTN"
    launch, resolved = launch_with(draft, draft if own else target, algorithm)
    report = loader_of(resolved)
    assert report is not None
    assert (report.error, report.lost) == (None, ())
    for rule in TWINS:
        if not rule.startswith("config"):
            assert judge(rule, launch, resolved) == []


@pytest.mark.parametrize("rule", TWINS)
def test_each_broken_twin_is_noticed_by_its_rule(tmp_path: Path, rule: str) -> None:
    findings = judge_twin(rule, tmp_path)
    assert findings
    for finding in findings:
        assert len(finding.message) <= 100
        assert not finding.message.endswith(".")
        assert finding.values
        assert finding.remedies


def test_every_rule_about_weights_has_a_twin() -> None:
    assert ABOUT_WEIGHTS - {"config-value-refused"} <= set(TWINS)
