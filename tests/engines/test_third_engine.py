"""A third engine works end to end, and an engine that is not asked for is not loaded."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner
from launches import LLAMA, LLAMA_EAGLE3, change, write_checkpoint

from specpreflight.cli import main
from specpreflight.engines import registry


@pytest.fixture
def pair(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[str, str]:
    monkeypatch.setitem(registry._MODULES, "toy", "toy_engine")
    target = write_checkpoint(tmp_path / "target", LLAMA)
    longer = change(LLAMA_EAGLE3, max_position_embeddings=262144)
    return str(target), str(write_checkpoint(tmp_path / "draft", longer))


def test_the_toy_engine_refuses(pair: tuple[str, str]) -> None:
    result = CliRunner().invoke(main, ["check", *pair, "--engine", "toy@2", "--format", "json"])
    report = json.loads(result.stdout)
    assert result.exit_code == 1
    assert report["verdict"]["outcome"] == "refuses"
    [finding] = report["findings"]
    assert finding["message"] == "draft 262144 is longer than target 131072"
    assert finding["values"][1]["origin"]["pointer"] == "/max_position_embeddings"


def test_the_toy_engine_of_another_release_starts(pair: tuple[str, str]) -> None:
    result = CliRunner().invoke(main, ["check", *pair, "--engine", "toy@1"])
    assert result.exit_code == 0, result.output
    assert "toy 1 starts" in result.stdout


def test_two_engines_are_asked_about_one_pair(pair: tuple[str, str]) -> None:
    words = ["check", *pair, "--engine", "toy@2", "--engine", "vllm@0.20.2", "--format", "json"]
    result = CliRunner().invoke(main, words)
    report = json.loads(result.stdout)
    assert [one["engine"]["name"] for one in report["reports"]] == ["toy", "vllm"]


@pytest.mark.parametrize(
    ("engine", "other"),
    [
        ("sglang@0.5.11", "specpreflight.engines.vllm"),
        (
            "vllm@0.20.2",
            "specpreflight.engines.sglang.(server_args|resolve|knowledge|loaders|arguments)",
        ),
    ],
)
def test_an_engine_that_is_not_asked_for_is_not_loaded(
    tmp_path: Path, engine: str, other: str
) -> None:
    target = write_checkpoint(tmp_path / "target", LLAMA)
    draft = write_checkpoint(tmp_path / "draft", LLAMA_EAGLE3)
    program = (
        "import re, sys\n"
        "from specpreflight.cli import main\n"
        f"main({['check', str(target), str(draft), '--engine', engine]!r}, standalone_mode=False)\n"
        f"print('LOADED', [name for name in sys.modules if re.match({other!r}, name)])\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.stdout.splitlines()[-1] == "LOADED []", done.stdout + done.stderr


@pytest.mark.parametrize("name", ["llamacpp", "tensorrt-llm"])
def test_engines_that_are_not_known_yet_say_so(tmp_path: Path, name: str) -> None:
    target = write_checkpoint(tmp_path / "target", LLAMA)
    result = CliRunner().invoke(main, ["check", str(target), "--engine", name])
    assert result.exit_code == 2
    assert f"engine `{name}` is not known yet" in result.output
