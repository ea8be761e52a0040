"""What a user sees, on both sides of each version gate."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from launches import DEEPSEEK, EAGLE3_FLAGS, LLAMA, change, found, outcomes, write_checkpoint

from specpreflight.api import build_launch, check
from specpreflight.models.finding import Finding

EAGLE3 = ("--speculative-algorithm", "EAGLE3")
CHAIN = EAGLE3_FLAGS


DFLASH = ("--speculative-algorithm", "DFLASH")


def without_draft(
    directory: Path, target: dict[str, Any], *words: str, version: str = "0.5.11"
) -> list[Finding]:
    write_checkpoint(directory / "target", target)
    launch = build_launch(str(directory / "target"), engine=f"sglang@{version}", words=words)
    return found(check(launch), "draft-path-missing")


def rules_without_draft(
    directory: Path, target: dict[str, Any], *words: str, version: str = "0.5.11"
) -> list[str]:
    return [one.outcome.value for one in without_draft(directory, target, *words, version=version)]


def test_dflash_refuses(tmp_path: Path) -> None:
    assert rules_without_draft(tmp_path, LLAMA, *DFLASH) == ["refuses"]


def test_eagle3_loads_the_target_twice(tmp_path: Path) -> None:
    assert rules_without_draft(tmp_path, LLAMA, *EAGLE3) == ["degrades"]


def test_with_a_draft_there_is_nothing_to_say(tmp_path: Path) -> None:
    assert outcomes(tmp_path, "draft-path-missing", "0.5.11", *CHAIN) == []


EAGLE = ("--speculative-algorithm", "EAGLE")


@pytest.mark.parametrize(
    ("version", "expected"),
    [("0.5.13", []), ("0.5.14", ["degrades"]), ("0.5.21", ["degrades"]), ("0.5.22", [])],
)
def test_layers_of_the_target_that_the_release_does_not_count(
    tmp_path: Path, version: str, expected: list[str]
) -> None:
    target = change(LLAMA, architectures=["Ernie4_5_MoeForCausalLM"])
    assert rules_without_draft(tmp_path, target, *EAGLE, version=version) == expected
    (finding, *_) = without_draft(tmp_path, target, *EAGLE, version="0.5.14")
    path = tmp_path / "target"
    assert finding.remedies[0].flags == (f"--speculative-draft-model-path {path}",)


def test_a_target_of_the_list_that_no_release_turns_into_a_head(tmp_path: Path) -> None:
    target = change(DEEPSEEK, architectures=["MistralLarge3ForCausalLM"])
    assert rules_without_draft(tmp_path, target, *EAGLE) == ["crashes"]
    on_the_list = change(LLAMA, architectures=["Glm4MoeForCausalLM"])
    assert rules_without_draft(tmp_path, on_the_list, *EAGLE) == []
