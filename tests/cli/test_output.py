"""What a terminal, a pipe and a full disk get to see of names and values that are odd."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from launches import LLAMA, write_checkpoint

from specpreflight.cli import main

ESCAPE = "\x1b[2J"


def process(*words: str | os.PathLike[str], **options: Any) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "specpreflight", *words],
        text=True,
        check=False,
        stderr=subprocess.PIPE,
        **options,
    )


def test_an_error_shows_no_escape_of_a_name() -> None:
    ran = CliRunner().invoke(main, ["check", f"a{ESCAPE}\nb", "--no-env"], color=True)
    assert ran.exit_code == 4
    assert ran.stderr.startswith("specpreflight: a\\x1b[2J\\nb/config.json: a\\x1b[2J\\nb does not")


@pytest.mark.parametrize("words", [["a", "b", "c"], ["--frob"], ["--format"]])
def test_a_wrong_command_line_shows_no_escape(words: list[str]) -> None:
    ran = CliRunner().invoke(main, ["compare", *words[:-1], f"{words[-1]}{ESCAPE}"], color=True)
    assert ran.exit_code == 2
    assert f"{words[-1]}\\x1b[2J" in ran.stderr
    assert ran.stderr.startswith("Usage: ")


@pytest.mark.parametrize("words", [("check",), ("launch",), ("diagnose",), ("env", "show")])
def test_a_name_that_no_file_system_takes(run: Callable[..., Any], words: tuple[str, ...]) -> None:
    ran = run(*words, 5000 * "a")
    assert ran.code == 4
    assert "file name too long" in ran.stderr


@pytest.mark.parametrize("engine", ["sglang", "vllm"])
def test_a_release_whose_name_no_file_system_takes(run: Callable[..., Any], engine: str) -> None:
    ran = run("check", "a", "b", "--no-env", "--engine", f"{engine}@{5000 * '9'}")
    assert ran.code == 2


def test_a_draft_whose_name_no_file_system_takes(run: Callable[..., Any], tmp_path: Path) -> None:
    ran = run("check", write_checkpoint(tmp_path, LLAMA), 5000 * "a", "--no-env")
    assert ran.code == 4
    assert "aaa: no such directory" in ran.stderr


@pytest.mark.parametrize("form", ["markdown", "html", "text", "json"])
def test_an_encoding_that_lacks_letters(tmp_path: Path, form: str) -> None:
    target = write_checkpoint(tmp_path / "target", {**LLAMA, "hidden_act": "\ud83d\u274c"})
    words = ("check", target, target, "--no-env", "--isolated", "--format", form)
    environment = {**os.environ, "PYTHONIOENCODING": "latin-1"}
    ran = process(*words, env=environment, stdout=subprocess.PIPE, encoding="latin-1")
    assert ran.returncode in (0, 1)
    assert ran.stderr == ""


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
@pytest.mark.parametrize("words", [("rules",), ("engines",), ("completion", "bash"), ("--help",)])
def test_a_full_disk(words: tuple[str, ...]) -> None:
    with Path("/dev/full").open("w") as full:
        ran = process(*words, stdout=full)
    assert ran.returncode == 4
    assert ran.stderr.startswith("specpreflight: the output: no space left on device\n")
    assert "Exception ignored" not in ran.stderr


@pytest.mark.parametrize("closed", [">&-", "2>&-", ">&- 2>&-"])
@pytest.mark.parametrize("command", ["check", "scan", "check --format json", "keys --help"])
def test_an_output_that_is_closed(tmp_path: Path, command: str, closed: str) -> None:
    target = write_checkpoint(tmp_path, LLAMA)
    line = f"{sys.executable} -m specpreflight {command} {target} {closed}"
    ran = subprocess.run(["sh", "-c", line], capture_output=True, text=True, check=False)
    assert ran.returncode == 0
    assert ran.stderr == ""


def test_a_launch_shows_no_escape_and_no_secret(tmp_path: Path) -> None:
    script = tmp_path / "serve.sh"
    script.write_text(
        f"export HF_TOKEN=letmein9 NCCL_ALGO='{ESCAPE}'\n"
        f"sglang serve --model-path 'm{ESCAPE}' --api-key letmein9\n"
    )
    ran = CliRunner().invoke(main, ["launch", str(script)], color=True)
    assert ran.exit_code == 0
    assert "HF_TOKEN=<redacted>" in ran.stdout
    assert "NCCL_ALGO=\\x1b[2J" in ran.stdout
    assert "letmein9" not in ran.stdout
    assert ESCAPE not in ran.stdout


@pytest.mark.parametrize("form", ["text", "markdown", "html", "junit", "github", "json", "sarif"])
def test_a_report_shows_no_escape(tmp_path: Path, form: str) -> None:
    target = write_checkpoint(tmp_path / f"t{ESCAPE}", {**LLAMA, "model_type": ESCAPE})
    words = ["check", str(target), str(target), "--env", f"NCCL_ALGO={ESCAPE}", "--format", form]
    ran = CliRunner().invoke(main, [*words, "--isolated"], color=True)
    assert ran.exit_code == 1
    assert ESCAPE not in ran.stdout


def test_tables_show_no_escape(tmp_path: Path) -> None:
    one = write_checkpoint(tmp_path / "a", {**LLAMA, "hidden_act": ESCAPE})
    other = write_checkpoint(tmp_path / "b", LLAMA)
    log = tmp_path / "x.log"
    log.write_text("[2026-08-10 11:00:24] server_args=ServerArgs(model_path='\x1b\x1b[2J2J')\n")
    for words in (
        ("compare", one, other),
        ("env", "show", "--env", f"NCCL_ALGO={ESCAPE}", "-v"),
        ("diagnose", log),
        ("explain", one, other),
        ("upgrade-check", one, other, "--from", "0.5.9", "--to", "0.5.11", "-v"),
    ):
        ran = CliRunner().invoke(main, list(map(str, words)), color=True)
        assert ran.exit_code in (0, 1)
        assert ESCAPE not in ran.stdout


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        ("[1, 2]", "[1, 2]"),
        ('[["a"]]', '[["a"]]'),
        ('["a", "b"]', "a b"),
        ('{"a": [1]}', '{"a": [1]}'),
    ],
)
def test_a_flag_whose_value_is_json(
    run: Callable[..., Any], tmp_path: Path, value: str, shown: str
) -> None:
    call = tmp_path / "call.json"
    call.write_text(f'{{"model": "m", "speculative_config": {value}}}')
    ran = run("launch", call)
    assert ran.code == 0
    assert f"  --speculative-config  {shown}" in ran.stdout.splitlines()
