"""The backend that a draft inherits, by release and machine."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from launches import DEEPSEEK, EAGLE3_FLAGS, found, make_launch, outcomes

from specpreflight.api import check
from specpreflight.sources.hardware import read_hardware

RULE = "draft-attention-backend-unfit"


def backend(name: str) -> tuple[str, ...]:
    return (*EAGLE3_FLAGS, "--attention-backend", name)


def one_step(name: str) -> tuple[str, ...]:
    words = list(backend(name))
    words[words.index("3")], words[words.index("4")] = "1", "2"
    return tuple(words)


@pytest.mark.parametrize(
    ("version", "machine", "words", "expected"),
    [
        # DeepSeek-V3 gets trtllm_mla on Blackwell; the head has ordinary attention.
        ("0.5.9", "b200", EAGLE3_FLAGS, ["crashes"]),
        ("0.5.23", "b200", EAGLE3_FLAGS, ["crashes"]),
        ("0.5.9", "h100", EAGLE3_FLAGS, []),
        ("0.5.9", "b200", backend("flashinfer"), []),
        ("0.5.9", "h100", backend("flashmla"), ["crashes"]),
        (
            "0.5.9",
            "b200",
            (*EAGLE3_FLAGS, "--speculative-draft-attention-backend", "flashinfer"),
            [],
        ),
    ],
)
def test_kind_of_attention(
    tmp_path: Path, version: str, machine: str, words: tuple[str, ...], expected: list[str]
) -> None:
    got = outcomes(tmp_path, RULE, version, *words, target=DEEPSEEK, hardware=machine)
    assert got == expected


@pytest.mark.parametrize(
    ("version", "words", "expected"),
    [
        ("0.5.9", backend("triton"), []),
        ("0.5.9", backend("torch_native"), ["crashes"]),
        ("0.5.9", one_step("torch_native"), ["crashes"]),  # the table for extending is asked
        ("0.5.9", backend("fa4"), ["crashes"]),
        ("0.5.10", backend("fa4"), []),
        ("0.4.10.post2", backend("torch_native"), ["crashes"]),
        ("0.4.10.post2", backend("fa3"), []),
    ],
)
def test_backends_that_can_draft(
    tmp_path: Path, version: str, words: tuple[str, ...], expected: list[str]
) -> None:
    assert outcomes(tmp_path, RULE, version, *words, hardware="h100") == expected


@pytest.mark.parametrize(
    ("version", "flags"),
    [
        ("0.5.9", ("--speculative-draft-attention-backend trtllm_mha",)),
        ("0.5.7", ("--speculative-draft-attention-backend trtllm_mha",)),
        ("0.5.6.post2", ()),
    ],
)
def test_the_flag_of_the_release(tmp_path: Path, version: str, flags: tuple[str, ...]) -> None:
    launch = make_launch(tmp_path, DEEPSEEK, None, *EAGLE3_FLAGS, engine=f"sglang@{version}")
    launch = replace(launch, hardware=read_hardware("b200"))
    (finding,) = found(check(launch), RULE)
    assert finding.remedies[0].flags == flags
    assert "trtllm_mla" in str(finding.engine_message)
