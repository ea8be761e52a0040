"""What a process keeps from one job of a scan to the next."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from make_tree import draft_config, target_config

from specpreflight.api import identify_engine
from specpreflight.conditions import Conditions
from specpreflight.scanning import checking
from specpreflight.scanning.checking import Job, JobSide, run_job

CONDITIONS = [Conditions(identify_engine("sglang@0.5.11"))]


def write(folder: Path, config: dict[str, Any]) -> JobSide:
    folder.mkdir(exist_ok=True)
    (folder / "new").write_text(json.dumps(config))
    (folder / "new").replace(folder / "config.json")
    return JobSide(str(folder), f"/slot/{folder.name}")


def test_a_target_is_read_once_for_its_drafts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    read: list[str] = []
    original = checking.read_directory

    def note(role: str, directory: Path, name: str) -> Any:
        read.append(directory.name)
        return original(role, directory, name)

    monkeypatch.setattr(checking, "read_directory", note)
    config = target_config(3)
    target = write(tmp_path / "target", config)
    drafts = [write(tmp_path / f"draft-{number}", draft_config(config)) for number in range(3)]
    for draft in drafts:
        run_job(Job(0, target, draft), CONDITIONS)
    assert sorted(read) == ["draft-0", "draft-1", "draft-2", "target"]


def test_a_target_that_was_replaced_is_read_again(tmp_path: Path) -> None:
    config = target_config(3)
    target = write(tmp_path / "target", config)
    draft = write(tmp_path / "draft", draft_config(config))
    before = run_job(Job(0, target, draft), CONDITIONS).report
    write(tmp_path / "target", {**config, "max_position_embeddings": 65_536})
    after = run_job(Job(0, target, draft), CONDITIONS).report
    assert before.resolved["context_length"].value == 131_072
    assert after.resolved["context_length"].value == 65_536
