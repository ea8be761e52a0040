"""`specpreflight explain`: rules, and pairs in both engines."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from launches import LLAMA, LLAMA_EAGLE3, change, write_checkpoint

from specpreflight.cli import main


def explain(*words: str) -> Result:
    return CliRunner().invoke(main, ["explain", *words])


@pytest.fixture
def pair(tmp_path: Path) -> tuple[str, str]:
    draft = change(LLAMA_EAGLE3, architectures=["Eagle3LlamaForCausalLM"])
    return (
        str(write_checkpoint(tmp_path / "target", LLAMA)),
        str(write_checkpoint(tmp_path / "draft", draft)),
    )


def explained(*words: str) -> dict[str, Any]:
    result = explain(*words, "--format", "json")
    assert result.exit_code == 0, result.output
    found: dict[str, Any] = json.loads(result.stdout)
    return found


def test_a_rule_is_explained_by_its_page():
    result = explain("draft-context-shorter")
    assert result.exit_code == 0
    assert "## What the engine does" in result.stdout


def test_an_unknown_rule_is_answered_with_the_nearest():
    result = explain("draft-context-short")
    assert result.exit_code == 2
    assert "draft-context-shorter" in result.stderr


def test_a_pair_is_explained_in_both_engines(pair: tuple[str, str]):
    found = explained(*pair)
    fates = {engine["name"]: engine["outcome"] for engine in found["engines"]}
    assert fates == {"sglang": "crashes", "vllm": "starts"}
    known = {name["architecture"]: name["releases"] for name in found["names"]}
    assert known["Eagle3LlamaForCausalLM"] == {"sglang": [], "vllm": [["0.10.0", None]]}
    assert known["LlamaForCausalLMEagle3"]["sglang"] == [["0.4.6.post5", None]]


def test_releases_can_be_chosen(pair: tuple[str, str]):
    engines = explained(*pair, "--engine", "vllm@0.10.2", "--engine", "vllm@0.33.0")["engines"]
    assert [engine["version"] for engine in engines] == ["0.10.2", "0.33.0"]


def test_the_text_fits_in_eighty_columns(pair: tuple[str, str], monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(Path(pair[0]).parent)
    result = explain("target", "draft")
    assert result.exit_code == 0
    lines = result.stdout.splitlines()
    assert max(map(len, lines)) <= 80
    assert lines[2].split() == ["SGLang", "0.5.23", "vLLM", "0.33.0"]
    assert any(
        line.split() == ["Eagle3LlamaForCausalLM", "never", "0.10.0", "on"] for line in lines
    )


@pytest.mark.parametrize("words", [("a", "b", "c"), ("draft-context-shorter", "--engine", "vllm")])
def test_what_does_not_fit_together_is_a_usage_error(words: tuple[str, ...]):
    assert explain(*words).exit_code == 2


def test_a_missing_checkpoint_exits_with_4(pair: tuple[str, str]):
    result = explain(pair[0], pair[1] + "-gone")
    assert result.exit_code == 4
    assert "draft-gone" in result.stderr


def test_a_folder_alone_wants_a_draft(pair: tuple[str, str]):
    assert explain(pair[0]).exit_code == 2
