"""The words of a launch that only its log tells of."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from specpreflight.api import identify_engine
from specpreflight.changes.logged_launch import words_of_log
from specpreflight.cli.diagnose import read_diagnosis
from specpreflight.engines.registry import find_engine
from specpreflight.models.diagnosis import LoggedLaunch

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "kimi-k2.5-eagle3"


def words(engine: str, arguments: dict[str, Any], command: str | None = None) -> list[str]:
    known = read_diagnosis(str(EXAMPLE / "launch-2-steps.log"))
    launch = LoggedLaunch(arguments=arguments, command=command)
    version = identify_engine(engine)
    facts = find_engine(version.name).facts(version)
    return list(words_of_log(replace(known, launch=launch), facts))


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ({"tp_size": 8}, ["--tensor-parallel-size", "8"]),
        ({"tp_size": 1, "random_seed": 5, "port": 3, "api_key": "***", "dtype": None}, []),
        ({"trust_remote_code": True, "skip_tokenizer_init": False}, ["--trust-remote-code"]),
        ({"lora_paths": ["a", "b"]}, ["--lora-paths", "a", "b"]),
        ({"no_such_field": 3}, []),
    ],
)
def test_sglang(arguments: dict[str, Any], expected: list[str]) -> None:
    assert words("sglang@0.5.9", arguments) == expected


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ({"model": "m", "max_model_len": 4096}, ["--model", "m", "--max-model-len", "4096"]),
        ({"enable_prefix_caching": False}, ["--no-enable-prefix-caching"]),
        ({"speculative_config": {"method": "ngram"}},
         ["--speculative-config", '{"method": "ngram"}']),
    ],
)  # fmt: skip
def test_vllm(arguments: dict[str, Any], expected: list[str]) -> None:
    assert words("vllm@0.20.0", arguments) == expected


def test_a_traced_command_is_taken_as_it_is() -> None:
    command = "python -m sglang.launch_server --model-path 'a b' --tp 8"
    assert words("sglang@0.5.9", {"tp_size": 4}, command)[-4:] == [
        "--model-path",
        "a b",
        "--tp",
        "8",
    ]
