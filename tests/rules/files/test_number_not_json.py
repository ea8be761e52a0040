from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from launches import bare_launch

from specpreflight.models.finding import Finding, Outcome
from specpreflight.models.resolved import Resolved
from specpreflight.rules.files.number_not_json import RULE
from specpreflight.sources.checkpoint import read_checkpoint


def judge(tmp_path: Path, written: str) -> list[Finding]:
    launch = bare_launch(tmp_path)
    config = tmp_path / "draft" / "config.json"
    config.write_text(config.read_text().replace("1e-05", written, 1))
    launch = replace(launch, draft=read_checkpoint("draft", str(tmp_path / "draft")))
    return list(RULE.check(launch, Resolved({}, ())))


@pytest.mark.parametrize("written", ["NaN", "Infinity", "-Infinity"])
def test_a_number_that_is_no_json(written: str, tmp_path: Path) -> None:
    [finding] = judge(tmp_path, written)
    assert finding.outcome is Outcome.STARTS
    assert finding.message == f"`rms_norm_eps` of the draft is {written}, expected a JSON number"
    assert finding.values[0].value == written
    assert finding.values[0].origin.line is not None


@pytest.mark.parametrize("written", ["1e-05", '"NaN"', "1e308"])
def test_quiet(written: str, tmp_path: Path) -> None:
    assert judge(tmp_path, written) == []
