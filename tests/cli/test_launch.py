"""`specpreflight launch`: what a user sees."""

import json
import shutil
from pathlib import Path

import pytest
from click.testing import CliRunner

from specpreflight.cli import main

EXAMPLE = Path(__file__).parents[2] / "examples/kimi-k2.5-eagle3"

SCRIPT = """#!/bin/bash
export NCCL_DEBUG=INFO
sglang serve --model-path $MODEL --tp ${1:-2} \\
  --speculative-algo EAGLE --mem-frac 0.8
  --speculative-num-steps 3
"""


@pytest.fixture
def run():
    runner = CliRunner()
    return lambda *arguments, **more: runner.invoke(main, ["launch", *arguments], **more)


@pytest.fixture
def script(tmp_path):
    path = tmp_path / "serve.sh"
    path.write_text(SCRIPT)
    return str(path)


def test_json_has_what_was_understood(run, script):
    result = run(script, "--env", "MODEL=org/m", "--format", "json", "--", "8")
    assert result.exit_code == 0
    told = json.loads(result.stdout)
    assert told["engine"] == "sglang"
    assert told["entry"] == "sglang serve"
    assert told["argv"][:4] == ["--model-path", "org/m", "--tp", "8"]
    assert told["flags"] == {
        "model-path": "org/m",
        "tp-size": "8",
        "speculative-algorithm": "EAGLE",
        "mem-fraction-static": "0.8",
    }
    assert told["env"] == {"NCCL_DEBUG": "INFO"}
    assert told["paths"] == {"target": "org/m", "draft": None}
    assert told["lost"] == ["--speculative-num-steps"]
    assert told["unresolved"] == []


def test_text_names_the_places(run, script):
    result = run(script)
    assert f"NCCL_DEBUG=INFO  ({script}:2)" in result.stdout
    assert "lost: line 5: --speculative-num-steps 3" in result.stdout
    assert "not known: ${MODEL}" in result.stdout


def test_a_command_after_two_dashes(run):
    words = [
        "docker",
        "run",
        "vllm/vllm-openai:v0.11.0",
        "--model",
        "m",
        "--port",
        "1",
        "--speculative-config",
        '{"method": "ngram"}',
    ]
    told = json.loads(run("--format", "json", "--", *words).stdout)
    assert (told["engine"], told["engine_version"]) == ("vllm", "v0.11.0")
    assert told["flags"] == {"model": "m", "speculative-config": {"method": "ngram"}}


def test_standard_input(run):
    result = run("-", "--format", "json", input="A=1 vllm serve m --speculative-config.model d\n")
    told = json.loads(result.stdout)
    assert told["env"] == {"A": "1"}
    assert told["paths"] == {"target": "m", "draft": "d"}


def test_a_configuration_file_counts_as_the_release_merges_it(run, tmp_path):
    (tmp_path / "c.yaml").write_text("model-path: m\ntp: 2\n")
    script = tmp_path / "run.sh"
    script.write_text("sglang serve --config c.yaml --tp 4\n")
    told = json.loads(run(str(script), "--engine", "sglang@0.5.9", "--format", "json").stdout)
    assert told["flags"] == {"model-path": "m", "tp-size": "4"}
    told = json.loads(run(str(script), "--engine", "sglang@0.5.2", "--format", "json").stdout)
    assert told["flags"] == {"config": "c.yaml", "tp-size": "4"}


def test_files_are_found_in_the_folders_given(run, tmp_path):
    (tmp_path / "files").mkdir()
    (tmp_path / "files" / "a.env").write_text("A=1\n")
    words = ["--", "docker", "run", "--env-file", "/etc/x/a.env", "img", "sglang", "serve"]
    told = json.loads(run("--files", str(tmp_path / "files"), "--format", "json", *words).stdout)
    assert told["env"] == {"A": "1"}


@pytest.mark.parametrize(
    ("arguments", "exit_code", "message"),
    [
        ((), 2, "no launch given"),
        (("/no/such/file.sh",), 4, "/no/such/file.sh: no such file"),
        (("--", "echo", "x"), 4, "no launch of SGLang or vLLM found"),
        (("--env", "X", "--", "sglang", "serve"), 2, "NAME=VALUE"),
        (("--engine", "nope", "--", "sglang", "serve"), 2, "unknown engine"),
    ],
)
def test_what_cannot_be_understood_is_one_line(run, arguments, exit_code, message):
    result = run(*arguments)
    assert result.exit_code == exit_code
    assert message in result.stderr
    assert "Traceback" not in result.output


def test_check_says_that_a_file_starts_more_engines_and_scan_checks_all(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "two.sh").write_text(
        "sglang serve --model-path T --speculative-algorithm NGRAM &\nsglang serve --model-path T\n"
    )
    runner = CliRunner()
    checked = runner.invoke(main, ["check", "two.sh"])
    assert "two.sh starts 2 engines; this is about number 1, on line 1" in checked.stderr
    scanned = runner.invoke(main, ["scan", "two.sh", "--format", "json"])
    assert len(json.loads(scanned.stdout)["reports"]) == 2


@pytest.mark.parametrize(
    ("script", "words"),
    [
        ('cd "$(dirname "$0")"', ["x/serve.sh"]),
        ('cd "$(dirname "$0")"', ["--", "bash", "x/serve.sh"]),
        ('D=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd); cd "$D"', ["--", "bash", "x/serve.sh"]),
        ("", ["--", "x/serve.sh"]),
    ],
)  # fmt: skip
def test_check_finds_checkpoints_where_the_script_changes_to(tmp_path, monkeypatch, script, words):
    shutil.copytree(EXAMPLE, tmp_path / "x")
    launch = "sglang serve --model-path target --speculative-draft-model-path draft"
    (tmp_path / "x/serve.sh").write_text(f"{script}\n{launch} --speculative-algorithm EAGLE3\n")
    monkeypatch.chdir(tmp_path)
    checked = CliRunner().invoke(main, ["check", "--no-env", *words])
    assert "draft-context-shorter" in checked.stdout
