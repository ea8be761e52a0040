from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from launches import bare_launch

from specpreflight.models.finding import Finding, Outcome, Stage
from specpreflight.models.resolved import Resolved
from specpreflight.rules.files.generation_config_broken import RULE
from specpreflight.sources.checkpoint import read_checkpoint


def judge(
    tmp_path: Path, data: bytes, role: str = "target", engine: str | None = None
) -> list[Finding]:
    launch = bare_launch(tmp_path)
    directory = tmp_path / role
    (directory / "generation_config.json").write_bytes(data)
    launch = replace(launch, **{role: read_checkpoint(role, str(directory))})
    if engine is not None:
        name, _, version = engine.partition("@")
        launch = replace(launch, engine=replace(launch.engine, name=name, version=version))
    return list(RULE.check(launch, Resolved({}, ())))


BROKEN = {
    "a full stop": b'{\n  "temperature": 0.6.\n}',
    "a trailing comma": b'{"eos_token_id": [1, 2],}',
    "empty": b"",
    "a byte-order mark": b"\xef\xbb\xbf{}",
    "not UTF-8": b'{"a": "\xff"}',
}


@pytest.mark.parametrize("kind", BROKEN)
def test_what_is_no_json_counts_as_absent(tmp_path: Path, kind: str) -> None:
    [finding] = judge(tmp_path, BROKEN[kind])
    assert finding.outcome is Outcome.DEGRADES
    assert "is not JSON" in finding.message


def test_the_drafts_own_is_not_missed(tmp_path: Path) -> None:
    assert judge(tmp_path, b"", "draft") == []


def test_the_line_is_told(tmp_path: Path) -> None:
    assert "line 2" in judge(tmp_path, BROKEN["a full stop"])[0].message


@pytest.mark.parametrize(
    ("role", "stage"), [("target", Stage.TARGET_CONFIG), ("draft", Stage.DRAFT_CONFIG)]
)
def test_another_kind_of_json_stops_the_launch(tmp_path: Path, role: str, stage: Stage) -> None:
    [finding] = judge(tmp_path, b"[1]", role)
    assert (finding.outcome, finding.stage) == (Outcome.REFUSES, stage)


@pytest.mark.parametrize("data", [b"{}", b'{"temperature": "high", "eos_token_id": [1.5]}'])
def test_quiet(tmp_path: Path, data: bytes) -> None:
    assert judge(tmp_path, data) == []


def test_releases_that_do_not_read_it(tmp_path: Path) -> None:
    for engine, found in (("sglang@0.4.9.post1", 0), ("sglang@0.4.9.post2", 1), ("vllm@0.11.0", 1)):
        place = tmp_path / engine
        place.mkdir()
        assert len(judge(place, b"[1]", engine=engine)) == found
