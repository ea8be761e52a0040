"""Bad input through the command line: one clear line and the exit code of the contract."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from launches import LLAMA, LLAMA_EAGLE3, write_checkpoint
from malformed import MALFORMED, Malformed


@pytest.mark.parametrize("role", ["target", "draft"])
@pytest.mark.parametrize("case", MALFORMED, ids=lambda case: case.name)
def test_broken_checkpoint(
    run: Callable[..., Any], tmp_path: Path, case: Malformed, role: str
) -> None:
    (tmp_path / "broken").mkdir()
    broken = case.make(tmp_path / "broken")
    good = write_checkpoint(tmp_path / "good", LLAMA if role == "draft" else LLAMA_EAGLE3)
    pair = (good, broken) if role == "draft" else (broken, good)
    ran = run("check", *pair, "--no-env")
    assert ran.code == 4
    assert ran.stdout == ""
    lines = ran.stderr.splitlines()
    assert lines[0].startswith("specpreflight: ")
    assert len(lines) <= 2
    assert "Traceback" not in ran.stderr


@pytest.mark.parametrize(
    ("version", "outcome"),
    [("0.5.6.post2", "crashes"), ("0.5.9", "refuses"), ("0.5.23", "refuses")],
    ids=["after the target's weights", "before them", "with the arguments"],
)
def test_broken_draft_is_also_a_prediction_in_json(
    run: Callable[..., Any], tmp_path: Path, version: str, outcome: str
) -> None:
    write_checkpoint(tmp_path / "target", LLAMA)
    (tmp_path / "draft").mkdir()
    (tmp_path / "draft" / "config.json").write_text('{"model_type": "llama",}')
    ran = run(
        "check", tmp_path / "target", tmp_path / "draft", "--engine", f"sglang@{version}",
        "--no-env", "--format", "json", "--", "--speculative-algorithm", "EAGLE3",
    )  # fmt: skip
    assert ran.code == 4
    assert ran.data["verdict"]["outcome"] == outcome
    assert ran.data["verdict"]["stage"] == "draft-config"


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ((), "nothing to check"),
        (("a", "b", "c"), "takes TARGET and DRAFT, got 3"),
        (("a", "b", "--engine", "sglang@9.9.9x"), "9.9.9x"),
        (("a", "b", "--engine", "sgalng"), "unknown engine `sgalng`"),
        (("a", "b", "--engine", "llamacpp"), "not known yet"),
        (("a", "b", "--ignore", "draft-context-shortr"), "draft-context-shortr"),
        (("a", "b", "--env", "NAME"), "not NAME=VALUE"),
        (("a", "b", "--format", "yaml"), "yaml"),
        (("a", "b", "--fail-on", "fatal"), "fatal"),
        (("a", "b", "--frobnicate"), "--frobnicate"),
    ],
)
def test_usage(run: Callable[..., Any], words: tuple[str, ...], message: str) -> None:
    ran = run("check", *words)
    assert ran.code == 2
    assert message in ran.stderr
    assert ran.stdout == ""


def test_missing_env_file(run: Callable[..., Any], tmp_path: Path) -> None:
    ran = run("check", "a", "b", "--env-file", tmp_path / "nowhere.env")
    assert ran.code == 4
    assert "nowhere.env" in ran.stderr


def test_hub_id_that_is_not_cached_names_the_download(
    run: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path))
    ran = run("check", "org/target", "org/draft", "--no-env")
    assert ran.code == 4
    assert "hf download org/target --include '*.json'" in ran.stderr


def test_closed_pipe_is_no_traceback(tmp_path: Path) -> None:
    write_checkpoint(tmp_path / "target", LLAMA)
    write_checkpoint(tmp_path / "draft", LLAMA_EAGLE3)
    command = f"{sys.executable} -m specpreflight rules | head -c 1"
    ran = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=False)
    assert "Traceback" not in ran.stderr


@pytest.mark.parametrize(
    "name",
    [
        *("model.safetensors", "model.safetensors.index.json", "generation_config.json"),
        *("tokenizer.json", "tokenizer_config.json", "hf_quant_config.json", "README.md"),
        "map.pt",
    ],
)
def test_a_named_pipe_beside_a_config_keeps_nobody_waiting(tmp_path: Path, name: str) -> None:
    target = write_checkpoint(tmp_path / "target", LLAMA)
    draft = write_checkpoint(tmp_path / "draft", LLAMA_EAGLE3)
    for directory in (target, draft):
        os.mkfifo(directory / name)
    flags = ("--speculative-algorithm", "EAGLE3", "--speculative-token-map", draft / "map.pt")
    for words in (
        ("check", target, draft, "--isolated", "--no-env", "--", *flags),
        ("scan", tmp_path, "--isolated", "--no-env", "--no-cache", "--jobs", "1"),
        ("compare", target, draft, "--no-env"),
    ):
        ran = subprocess.run(
            [sys.executable, "-m", "specpreflight", *words],
            capture_output=True,
            check=False,
            timeout=60,
        )
        assert ran.returncode in (0, 1, 4), ran.stderr


@pytest.mark.parametrize("engine", ["sglang serve --model-path", "vllm serve"])
@pytest.mark.parametrize(
    ("content", "code", "message"),
    [
        (None, 0, "flags.yaml: not here, or no text; what the launch takes from there is not"),
        (b"\x00\xff", 0, "flags.yaml: not here, or no text"),
        (b"[1]", 4, "flags.yaml: no mapping at its top level"),
        (b"x", 4, "flags.yaml: no mapping at its top level"),
        (b"a: [", 4, "flags.yaml:1: not valid YAML"),
        (b"", 0, ""),
    ],
)
def test_the_configuration_file_of_an_engine(
    run: Callable[..., Any],
    tmp_path: Path,
    engine: str,
    content: bytes | None,
    code: int,
    message: str,
) -> None:
    target = write_checkpoint(tmp_path / "target", LLAMA)
    if content is not None:
        (tmp_path / "flags.yaml").write_bytes(content)
    ran = run(
        "check", "--no-env", "--", *engine.split(), target, "--config", tmp_path / "flags.yaml"
    )
    assert ran.code == code
    assert message in ran.stderr
