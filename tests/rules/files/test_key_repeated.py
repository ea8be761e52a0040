from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from launches import bare_launch

from specpreflight.models.finding import Finding, Outcome
from specpreflight.models.resolved import Resolved
from specpreflight.rules.files.key_repeated import RULE
from specpreflight.sources.checkpoint import read_checkpoint


def judge(tmp_path: Path, before: str, after: str) -> list[Finding]:
    launch = bare_launch(tmp_path)
    config = tmp_path / "draft" / "config.json"
    config.write_text(config.read_text().replace(before, after, 1))
    launch = replace(launch, draft=read_checkpoint("draft", str(tmp_path / "draft")))
    return list(RULE.check(launch, Resolved({}, ())))


def test_the_first_one_does_not_count(tmp_path: Path) -> None:
    key = '"max_position_embeddings": '
    [finding] = judge(tmp_path, f"{key}131072", f"{key}4096,\n  {key}131072")
    assert finding.outcome is Outcome.STARTS
    assert finding.message == (
        "`max_position_embeddings` of the draft is 4096 and again 131072, which counts"
    )
    hidden, counts = finding.values
    assert (hidden.value, counts.value) == (4096, 131072)
    assert hidden.origin.line is not None
    assert counts.origin.line == hidden.origin.line + 1
    assert finding.remedies[0].edits == ()


def test_long_values_are_cut(tmp_path: Path) -> None:
    [finding] = judge(tmp_path, "{", '{\n  "architectures": ["' + "x" * 200 + '"],')
    assert len(finding.message) <= 100


def test_quiet_where_every_key_is_there_once(tmp_path: Path) -> None:
    assert judge(tmp_path, "{", '{\n  "a": {"vocab_size": 1}, "b": {"vocab_size": 2},') == []
