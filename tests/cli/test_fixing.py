"""`check --fix` and `--diff`: what is written, said and answered."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "kimi-k2.5-eagle3"
FLAGS = [
    *("--speculative-algorithm", "EAGLE3"),
    *("--speculative-num-steps", "3"),
    *("--speculative-eagle-topk", "1"),
    *("--speculative-num-draft-tokens", "4"),
    "--trust-remote-code",
]
OPTIONS = ("--engine", "sglang@0.5.11", "--no-env")


@pytest.fixture
def pair(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The example's target and draft, below the current directory."""
    for name in ("target", "draft"):
        shutil.copytree(EXAMPLE / name, tmp_path / name)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def context_length(path: Path) -> int:
    return int(json.loads((path / "config.json").read_text())["max_position_embeddings"])


def test_patch_takes_the_diff(run: Callable[..., Any], pair: Path) -> None:
    shown = run("check", "target", "draft", *OPTIONS, "--diff", "--", *FLAGS)
    assert shown.code == 0
    assert shown.stdout.startswith("--- draft/config.json\n+++ draft/config.json\n@@ ")
    assert "draft-context-shorter" in shown.stderr
    subprocess.run(["patch", "-p0"], input=shown.stdout, text=True, check=True, capture_output=True)
    patched = (pair / "draft" / "config.json").read_bytes()
    shutil.copy(EXAMPLE / "draft" / "config.json", pair / "draft" / "config.json")
    assert run("check", "target", "draft", *OPTIONS, "--fix", "--", *FLAGS).code == 0
    assert (pair / "draft" / "config.json").read_bytes() == patched


def test_a_second_run_writes_nothing(run: Callable[..., Any], pair: Path) -> None:
    first = run("check", "target", "draft", *OPTIONS, "--fix", "--", *FLAGS)
    assert "fixed draft/config.json (draft-context-shorter)" in first.stderr
    second = run("check", "target", "draft", *OPTIONS, "--fix", "--", *FLAGS)
    assert (second.code, second.stderr) == (0, "")
    assert len(list((pair / "draft" / ".specpreflight").glob("*.json"))) == 2


def test_another_rule_selected(run: Callable[..., Any], pair: Path) -> None:
    words = ("check", "target", "draft", *OPTIONS, "--fix", "--select-fix", "rope-theta-differs")
    assert run(*words, "--", *FLAGS).code == 1
    assert context_length(pair / "draft") == 131072


def test_what_could_not_be_written_is_reported_as_it_is(
    run: Callable[..., Any], pair: Path
) -> None:
    (pair / "draft" / "config.json").chmod(0o444)
    ran = run("check", "target", "draft", *OPTIONS, "--fix", "--format", "json", "--", *FLAGS)
    assert ran.code == 4
    assert "draft/config.json: not written: the file is read-only (mode 444)" in ran.stderr
    assert ran.data["verdict"]["outcome"] == "crashes"


def test_a_fixed_copy_leaves_the_draft_alone(run: Callable[..., Any], pair: Path) -> None:
    copied = run("check", "target", "draft", *OPTIONS, "--fix", "--copy-to", "new", "--", *FLAGS)
    assert copied.code == 0
    assert copied.stderr == "fixed copy: new/config.json\n"
    assert context_length(pair / "draft") == 131072
    assert context_length(pair / "new") == 262144
