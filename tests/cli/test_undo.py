"""`undo` and `history` on the command line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from fixing import FIXED, KIMI, kimi_plan

from specpreflight.cli import main
from specpreflight.fixes.apply import apply_plans


def run(*arguments: str) -> Result:
    return CliRunner().invoke(main, arguments)


@pytest.fixture
def fixed(tmp_path: Path) -> Path:
    """A checkpoint in which one fix was written."""
    (tmp_path / "config.json").write_bytes(KIMI)
    apply_plans(kimi_plan(tmp_path))
    return tmp_path


@pytest.mark.parametrize("given", ["", "/", "/config.json"])
def test_undo(given: str, fixed: Path) -> None:
    result = run("undo", f"{fixed}{given}")
    assert result.exit_code == 0
    assert result.stdout.startswith(f"restored {fixed}/config.json as it was before the fix of ")
    assert "(draft-context-shorter)" in result.stdout
    assert (fixed / "config.json").read_bytes() == KIMI


def test_undo_of_an_edited_file_needs_force(fixed: Path) -> None:
    (fixed / "config.json").write_bytes(b"{}")
    refused = run("undo", str(fixed))
    assert refused.exit_code == 2
    assert "was edited after the fix" in refused.stderr
    assert run("undo", "--force", str(fixed)).exit_code == 0
    assert (fixed / "config.json").read_bytes() == KIMI


def test_one_that_fails_stops_no_other(fixed: Path) -> None:
    result = run("undo", str(fixed / "nowhere"), str(fixed))
    assert result.exit_code == 4
    assert "nowhere: no such file or directory" in result.stderr
    assert (fixed / "config.json").read_bytes() == KIMI


def test_nothing_to_undo(tmp_path: Path) -> None:
    result = run("undo", str(tmp_path))
    assert result.exit_code == 2
    assert "nothing to undo" in result.stderr


def test_history(fixed: Path) -> None:
    run("undo", str(fixed))
    lines = run("history", str(fixed)).stdout.splitlines()
    assert lines[0].endswith("draft-context-shorter  [undone]")
    assert lines[1] == "      config.json /max_position_embeddings: 131072 -> 262144"
    assert lines[2].endswith("undo of 1  [applied]")


def test_history_as_json(fixed: Path) -> None:
    (entry,) = json.loads(run("history", "--format", "json", str(fixed)).stdout)
    assert entry["state"] == "applied"
    assert entry["rules"] == ["draft-context-shorter"]
    assert entry["edits"] == [
        {"pointer": "/max_position_embeddings", "before": 131072, "after": 262144}
    ]
    assert (fixed / "config.json").read_bytes() == FIXED


def test_history_of_a_checkpoint_that_was_never_fixed(tmp_path: Path) -> None:
    assert run("history", str(tmp_path)).stdout == f"{tmp_path}: nothing was fixed here\n"
    assert run("history", str(tmp_path / "nowhere")).exit_code == 4
