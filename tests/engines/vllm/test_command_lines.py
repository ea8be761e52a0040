"""One vLLM launch in every form in which people write it, through the command line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner
from launches import LLAMA, LLAMA_EAGLE3, write_checkpoint

from specpreflight.cli import main

KEYS = '{"method": "eagle3", "model": "draft", "num_speculative_tokens": 3}'
DOTTED = (
    "--speculative-config.method",
    "eagle3",
    "--speculative-config.model=draft",
    "--speculative-config.num_speculative_tokens",
    "3",
)
SHORT = ("--spec-method", "eagle3", "--spec-model", "draft", "--spec-tokens", "3")


@pytest.fixture(autouse=True)
def pair(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_checkpoint(tmp_path / "target", LLAMA)
    write_checkpoint(tmp_path / "draft", LLAMA_EAGLE3)
    (tmp_path / "serve.yaml").write_text(f"speculative-config: {KEYS}\nmax-model-len: 65536\n")
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize(
    ("release", "words"),
    [
        ("0.10.2", ("vllm", "serve", "target", "--speculative-config", KEYS)),
        ("0.33.0", ("vllm", "serve", "target", "--speculative_config", KEYS)),
        ("0.20.2", ("vllm", "serve", "target", "-sc", KEYS)),
        ("0.10.2", ("vllm", "serve", "target", *DOTTED)),
        (
            "0.33.0",
            ("python", "-m", "vllm.entrypoints.openai.api_server", "--model", "target", *DOTTED),
        ),
        ("0.22.0", ("vllm", "serve", "target", *SHORT)),
        ("0.33.0", ("vllm", "serve", "target", "--config", "serve.yaml")),
        ("0.33.0", ("--model", "target", "--speculative-config", KEYS)),
    ],
)
def test_every_form_is_the_same_launch(release: str, words: tuple[str, ...]):
    command = ["check", "--no-env", "--engine", f"vllm@{release}", "--format", "json", "--", *words]
    result = CliRunner().invoke(main, command)
    report = json.loads(result.stdout)
    assert result.exit_code == 0
    assert (report["inputs"]["target"], report["inputs"]["draft"]) == ("target", "draft")
    resolved = {name: found["value"] for name, found in report["resolved"].items()}
    assert (resolved["method"], resolved["num_speculative_tokens"]) == ("eagle3", 3)


@pytest.mark.parametrize("word", ["-sc", "--spec-method"])
def test_a_short_form_of_later_releases_is_refused_before(word: str):
    words = [word, KEYS if word == "-sc" else "eagle3"]
    command = [
        "check",
        "--no-env",
        "--engine",
        "vllm@0.11.2",
        "--",
        "vllm",
        "serve",
        "target",
        *words,
    ]
    result = CliRunner().invoke(main, command)
    assert result.exit_code == 1
    assert word in result.stdout
