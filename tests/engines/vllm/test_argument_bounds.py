"""Values that vLLM's parser takes and its config classes refuse."""

from __future__ import annotations

from pathlib import Path

import pytest
from launches import LLAMA_EAGLE3
from vllm_launches import resolve


def said(directory: Path, version: str, *words: str, **given: dict[str, str]) -> list[str]:
    events = resolve(directory, version, *words, **given).events
    return [event.engine_message or "" for event in events if event.outcome.value == "refuses"]


@pytest.mark.parametrize(
    ("version", "words", "text"),
    [
        ("0.33.0", ("--attention-backend", "NOPE"), "Unknown attention backend: 'NOPE'."),
        ("0.33.0", ("--hf-overrides", "3"), "Input should be a valid dictionary"),
        ("0.10.2", ("--hf-overrides", "true"), "Input should be a valid dictionary"),
        (
            "0.29.0",
            ("--tensor-parallel-size", "8", "--decode-context-parallel-size", "3"),
            "tp_size=8 must be divisible by dcp_size=3.",
        ),
        (
            "0.20.2",
            ("--tensor-parallel-size", "8", "--decode-context-parallel-size", "2"),
            "tensor parallel size 8 must be greater than total num kv heads 8 when enable decode",
        ),
        (
            "0.33.0",
            ("--kv-cache-dtype", "float16"),
            'kv_cache_dtype="float16" is incompatible with dtype="bfloat16".',
        ),
        (
            "0.32.0",
            ("--tensor-parallel-size", "16"),
            "World size (16) is larger than the number of available GPUs (8) in this node.",
        ),
        ("0.24.0", ("--enable-elastic-ep",), "Elastic EP is only supported with enable_eplb=True."),
    ],
)
def test_the_release_refuses_in_its_own_words(
    tmp_path: Path, version: str, words: tuple[str, ...], text: str
):
    assert said(tmp_path, version, *words)[0].startswith(text)


@pytest.mark.parametrize(
    ("words", "refused"),
    [
        (("--attention-backend", "FLASHINFER"), False),
        (("--attention-backend", "flashinfer"), False),
        (("--hf-overrides", "{}"), False),
        (("--tensor-parallel-size", "16", "--nnodes", "2"), False),
        (("--tensor-parallel-size", "16", "--distributed-executor-backend", "ray"), False),
        (("--gpu-memory-utilization", "1.0"), False),
        (("--gpu-memory-utilization", "1.01"), True),
        (("--gpu-memory-utilization", "0"), True),
        (("--max-num-seqs", "0"), True),
        (("--max-num-seqs", "1"), False),
        (("--tensor-parallel-size", "0"), True),
    ],
)
def test_bounds_are_those_of_the_release(tmp_path: Path, words: tuple[str, ...], refused: bool):
    assert bool(said(tmp_path, "0.33.0", *words)) is refused


@pytest.mark.parametrize(("text", "refused"), [("1", False), ("", True), ("yes", True)])
def test_the_runners_variable_must_be_a_number(tmp_path: Path, text: str, refused: bool):
    found = said(tmp_path, "0.29.0", environment={"VLLM_USE_V2_MODEL_RUNNER": text})
    assert [line.startswith("invalid literal for int()") for line in found] == [True] * refused


@pytest.mark.parametrize("length", [0, -1])
def test_a_length_must_be_positive(tmp_path: Path, length: int):
    draft = {**LLAMA_EAGLE3, "max_position_embeddings": length}
    assert said(tmp_path, "0.29.0", draft=draft)[0].startswith("max_model_len must be a positive")


def test_releases_before_0_23_let_such_a_length_through(tmp_path: Path):
    assert said(tmp_path, "0.22.1", draft={**LLAMA_EAGLE3, "max_position_embeddings": 0}) == []
