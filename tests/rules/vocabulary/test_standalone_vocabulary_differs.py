from __future__ import annotations

import json
from pathlib import Path

import pytest
from make_checkpoints import llama_target
from weight_launches import judge, judge_twin, launch_with

from specpreflight.models.finding import Outcome

RULE = "standalone-vocabulary-differs"


def tokenizer(*tokens: str, added: dict[str, int] | None = None) -> str:
    vocabulary = {token: number for number, token in enumerate(tokens)}
    extra = [{"content": token, "id": number} for token, number in (added or {}).items()]
    return json.dumps({"model": {"vocab": vocabulary}, "added_tokens": extra})


def findings(directory: Path, theirs: str | None, ours: str | None, release: str = "0.5.13"):
    paths = []
    for name, text in (("draft", ours), ("target", theirs)):
        checkpoint = llama_target()
        if text is not None:
            checkpoint.files["tokenizer.json"] = text
        paths.append(checkpoint.write(directory / name))
    return judge(RULE, *launch_with(*paths, "STANDALONE", release))


@pytest.mark.parametrize(
    ("release", "outcome"), [("0.5.14", Outcome.WRONG_OUTPUT), ("0.5.15", Outcome.CRASHES)]
)
def test_sizes_are_compared_from_0_5_15(tmp_path: Path, release: str, outcome: Outcome) -> None:
    [finding] = judge_twin(RULE, tmp_path, release=release)
    assert finding.outcome is outcome
    assert finding.message == "the draft has 512 tokens, the target 256"


def test_other_tokens_under_the_same_size(tmp_path: Path) -> None:
    [finding] = findings(tmp_path, tokenizer("a", "b", "c"), tokenizer("a", "c", "b"), "0.5.23")
    assert finding.outcome is Outcome.ACCEPTS_NOTHING
    assert finding.message == "token 1 is 'b' for the target and 'c' for the draft"


def test_a_few_other_tokens_only_cost_acceptance(tmp_path: Path) -> None:
    words = [f"w{number}" for number in range(40)]
    [finding] = findings(tmp_path, tokenizer(*words), tokenizer(*words[:-1], "other"))
    assert finding.outcome is Outcome.DEGRADES
    assert "1 ids have other tokens" in finding.detail


def test_ids_that_one_side_lacks_are_a_note(tmp_path: Path) -> None:
    [finding] = findings(tmp_path, tokenizer("a", "b", "<think>"), tokenizer("a", "b"))
    assert finding.outcome is Outcome.STARTS
    assert finding.message == "token 2 ('<think>') is one that the draft does not have"


def test_the_same_tokens_with_another_end_of_text(tmp_path: Path) -> None:
    paths = []
    for name, end in (("draft", "b"), ("target", "a")):
        checkpoint = llama_target()
        checkpoint.files["tokenizer.json"] = tokenizer("a", "b")
        checkpoint.files["tokenizer_config.json"] = json.dumps({"eos_token": end})
        paths.append(checkpoint.write(tmp_path / name))
    [finding] = judge(RULE, *launch_with(*paths, "STANDALONE", "0.5.13"))
    assert finding.outcome is Outcome.STARTS
    assert finding.message == "`eos_token` is 'a' for the target, 'b' for the draft"


def test_added_tokens_count(tmp_path: Path) -> None:
    one = tokenizer("a", added={"<s>": 1})
    assert findings(tmp_path / "same", one, one) == []
    [finding] = findings(tmp_path / "other", one, tokenizer("a", added={"<bos>": 1}))
    assert "'<s>'" in finding.message


@pytest.mark.parametrize("text", [None, "{", "[]", '{"model": {}}'])
def test_a_tokenizer_that_cannot_be_read_is_no_finding(tmp_path: Path, text: str | None) -> None:
    assert findings(tmp_path, tokenizer("a"), text) == []


def test_only_for_standalone(tmp_path: Path) -> None:
    assert judge_twin(RULE, tmp_path, algorithm="EAGLE") == []
