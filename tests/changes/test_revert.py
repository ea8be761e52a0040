"""A launch with one change taken back."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from launches import LLAMA_EAGLE3, make_launch

from specpreflight.changes.revert import revert
from specpreflight.models.change import Change
from specpreflight.models.finding import MISSING
from specpreflight.models.launch import Hardware, Launch
from specpreflight.models.secrets import REDACTED


def without(launch: Launch, part: Any, name: str, before: Any, after: Any = "now") -> Launch:
    reverted = revert(launch, Change(part, name, before, after))
    assert reverted is not None
    return reverted


@pytest.mark.parametrize(
    ("words", "name", "before", "expected"),
    [
        (["--page-size", "8"], "--page-size", "16", {"page-size": "16"}),
        (["--page-size=8"], "--page-size", MISSING, {}),
        (["--page-size", "8", "--page-size", "4"], "--page-size", MISSING, {}),
        (["--trust-remote-code"], "--trust-remote-code", MISSING, {}),
        ([], "--trust-remote-code", True, {"trust-remote-code": True}),
        (["--tp", "8", "--page-size", "8"], "--tp-size", "2", {"page-size": "8", "tp-size": "2"}),
        (["--lora-paths", "a", "b"], "--lora-paths", ["c"], {"lora-paths": "c"}),
        ([], "--lora-paths", ["c", "d"], {"lora-paths": ["c", "d"]}),
        ([], "--random-seed", "-5", {"random-seed": "-5"}),
        (["--page-size", "8", "--wrong", "x"], "--page-size", MISSING, {}),
    ],
)
def test_a_flag(
    tmp_path: Path, words: list[str], name: str, before: Any, expected: dict[str, Any]
) -> None:
    launch = make_launch(tmp_path, None, None, "--mem-fraction-static", "0.8", *words)
    reverted = without(launch, "flags", name, before)
    paths = ("model-path", "speculative-draft-model-path", "mem-fraction-static")
    assert {key: value for key, value in reverted.flags.items() if key not in paths} == expected
    assert ("--wrong" in words) == ("--wrong" in reverted.argv)


def test_a_key_of_a_flags_json(tmp_path: Path) -> None:
    words = ("--speculative-config", '{"method": "eagle3", "num_speculative_tokens": 5}')
    launch = make_launch(tmp_path, None, None, *words, engine="vllm@0.20.0")
    fewer = without(launch, "flags", "--speculative-config.num_speculative_tokens", 3)
    assert '"num_speculative_tokens": 3' in fewer.flags["speculative-config"]
    none = without(launch, "flags", "--speculative-config.method", MISSING)
    assert "method" not in none.flags["speculative-config"]


def test_a_variable(tmp_path: Path) -> None:
    launch = make_launch(tmp_path, environment={"NCCL_PROTO": "LL"})
    assert without(launch, "environment", "NCCL_PROTO", "Simple").variable("NCCL_PROTO") == "Simple"
    assert without(launch, "environment", "NCCL_PROTO", MISSING).environment == {}
    assert launch.variable("NCCL_PROTO") == "LL"


@pytest.mark.parametrize(
    ("name", "before", "pointer", "expected"),
    [
        ("hidden_size", 8, "/hidden_size", 8),
        ("hidden_size", MISSING, "/hidden_size", None),
        ("rope_scaling/factor", 2.0, "/rope_scaling", {"type": "yarn", "factor": 2.0}),
        ("rope_scaling/factor", MISSING, "/rope_scaling", {"type": "yarn"}),
        ("new/nested", 1, "/new", {"nested": 1}),
        ("a~1b", 1, "/a~1b", 1),
    ],
)
def test_a_key_of_a_config(
    tmp_path: Path, name: str, before: Any, pointer: str, expected: Any
) -> None:
    config = {**LLAMA_EAGLE3, "rope_scaling": {"type": "yarn", "factor": 4.0}}
    launch = make_launch(tmp_path, None, config)
    reverted = without(launch, "draft", name, before)
    assert reverted.draft is not None
    assert launch.draft is not None
    assert reverted.draft.config.get(pointer) == expected
    assert launch.draft.config.get("/rope_scaling/factor") == 4.0
    assert reverted.target is launch.target


def test_hardware(tmp_path: Path) -> None:
    launch = replace(make_launch(tmp_path), hardware=Hardware(gpu="B200", capability=(10, 0)))
    assert without(launch, "hardware", "capability", [9, 0]).hardware.capability == (9, 0)
    assert without(launch, "hardware", "gpu", MISSING).hardware.gpu is None


def test_the_engine(tmp_path: Path) -> None:
    launch = make_launch(tmp_path, engine="sglang@0.5.9")
    assert without(launch, "engine", "engine", "0.4.9", "0.5.9").engine.version == "0.4.9"


@pytest.mark.parametrize(
    "change",
    [
        Change("engine", "engine", "0.0.1", "0.5.9"),
        Change("engine", "code", "abc", "def", note="files changed"),
        Change("environment", "HF_TOKEN", REDACTED, MISSING),
        Change("libraries", "torch", "2.9.1", "2.10.0"),
        Change("target", "path", "a", "b"),
        Change("target", "tokenizer.json", "abc", "def", note="file"),
        Change("hardware", "topology/links", "a", "b"),
    ],
)
def test_what_cannot_be_taken_back(tmp_path: Path, change: Change) -> None:
    assert revert(make_launch(tmp_path), change) is None
