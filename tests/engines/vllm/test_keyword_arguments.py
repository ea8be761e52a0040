"""`LLM(...)` written as JSON, from a file or after `--`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from launches import LLAMA, LLAMA_EAGLE3, write_checkpoint

from specpreflight.cli import main
from specpreflight.engines.vllm.arguments import parse
from specpreflight.engines.vllm.keyword_arguments import keyword_words
from specpreflight.engines.vllm.knowledge import Knowledge


@pytest.fixture
def keywords(tmp_path: Path) -> dict[str, Any]:
    target = write_checkpoint(tmp_path / "target", LLAMA)
    draft = write_checkpoint(tmp_path / "draft", LLAMA_EAGLE3)
    speculative = {"method": "eagle3", "model": str(draft), "num_speculative_tokens": 3}
    return {"model": str(target), "speculative_config": speculative}


def run(*words: str) -> tuple[int, dict[str, Any]]:
    result = CliRunner().invoke(main, ["check", "--no-env", "--format", "json", *words])
    return result.exit_code, json.loads(result.stdout) if result.stdout else {}


def test_a_file_of_keyword_arguments_is_a_launch_of_vllm(tmp_path: Path, keywords):
    file = tmp_path / "llm.json"
    file.write_text(json.dumps(keywords))
    code, report = run(str(file), "--engine", "vllm@0.33.0")
    assert code == 0
    assert report["inputs"]["draft"] == keywords["speculative_config"]["model"]
    assert report["resolved"]["method"]["value"] == "eagle3"


def test_keyword_arguments_after_the_dashes_are_the_same_launch(keywords):
    code, report = run("--", json.dumps(keywords))
    assert code == 0
    assert report["engine"]["name"] == "vllm"
    assert report["inputs"]["target"] == keywords["model"]


def test_a_wrong_key_of_the_speculative_config_is_found(keywords):
    keywords["speculative_config"]["num_spec_tokens"] = 3
    code, report = run("--engine", "vllm@0.33.0", "--", json.dumps(keywords))
    assert code == 1
    assert report["verdict"]["stage"] == "arguments"
    assert "num_spec_tokens" in report["findings"][0]["message"]


def test_an_unknown_keyword_is_refused(keywords):
    keywords["speculative_model"] = "draft"
    code, report = run("--engine", "vllm@0.33.0", "--", json.dumps(keywords))
    assert code == 1
    assert "--speculative-model" in report["findings"][0]["message"]


def test_the_config_of_a_checkpoint_is_no_launch(tmp_path: Path):
    target = write_checkpoint(tmp_path / "target", {**LLAMA, "model": "x", "dtype": "bfloat16"})
    code, report = run(str(target / "config.json"), "--engine", "vllm@0.33.0")
    assert code == 0
    assert report["inputs"]["target"] == str(target / "config.json")


def test_a_process_gets_more_tokens_a_batch_than_a_server(keywords):
    keywords |= {"enable_lora": True, "max_num_seqs": 4096}
    words = ["--engine", "vllm@0.33.0", "--hardware", "h100", "--"]
    assert run(*words, json.dumps(keywords))[0] == 0
    argv = keyword_words(keywords, Knowledge("0.33.0"))
    code, report = run(*words, "vllm", "serve", *argv)
    assert code == 1
    assert report["findings"][0]["rule"] == "vllm-batch-budget-small"


@pytest.mark.parametrize(
    ("name", "value", "read"),
    [
        ("async_scheduling", False, False),
        ("async_scheduling", True, True),
        ("async_scheduling", None, None),
        ("max_model_len", 4096, 4096),
        ("hf_overrides", {"rope_theta": 1e6}, {"rope_theta": 1e6}),
        ("logits_processors", ["a:B", "c:D"], ["a:B", "c:D"]),
        ("model", "-strange", "-strange"),
    ],
)
def test_values_arrive_as_they_are(name: str, value: object, read: object):
    knowledge = Knowledge("0.33.0")
    parsed = parse(list(keyword_words({name: value}, knowledge)), knowledge)
    assert parsed.problems == ()
    assert parsed.values.get(name) == read
