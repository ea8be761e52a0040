"""What stops the draft's worker, or the target's runner, once the weights are loaded."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from launches import (
    DEEPSEEK,
    EAGLE3_FLAGS,
    LLAMA,
    LLAMA_EAGLE3,
    change,
    make_launch,
    write_checkpoint,
)

from specpreflight.api import build_launch
from specpreflight.engines.sglang import ENGINE
from specpreflight.models.finding import STOPPING, Stage
from specpreflight.models.resolved import Event
from specpreflight.sources.hardware import read_hardware

TREE = ("--speculative-algorithm", "EAGLE3", "--speculative-num-steps", "3")
DFLASH = change(
    LLAMA,
    architectures=["DFlashDraftModel"],
    num_hidden_layers=5,
    dflash_config={"target_layer_ids": [1, 9, 17, 25, 29], "mask_token_id": 128002},
)
DSPARK = change(
    DFLASH,
    architectures=["DSparkDraftModel"],
    block_size=7,
    markov_rank=32,
    markov_head_type="vanilla",
    dflash_config=...,
    target_layer_ids=[1, 9, 17, 25, 29],
    mask_token_id=128002,
)


def stops(
    folder: Path,
    version: str,
    *words: str,
    target: dict[str, Any] = LLAMA,
    draft: dict[str, Any] = LLAMA_EAGLE3,
    hardware: str = "h100",
) -> list[Event]:
    launch = make_launch(folder, target, draft, *words, engine=f"sglang@{version}")
    resolved = ENGINE.resolve(replace(launch, hardware=read_hardware(hardware)))
    return [event for event in resolved.events if event.outcome in STOPPING]


def topics(*arguments: Any, **models: Any) -> list[str]:
    return [event.topic for event in stops(*arguments, **models)]


@pytest.mark.parametrize("version", ["0.4.9", "0.5.9", "0.5.23"])
@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (("--speculative-eagle-topk", "2"), ["arguments.tree-without-tokens"]),
        (("--speculative-eagle-topk", "1"), []),
        (("--speculative-eagle-topk", "2", "--speculative-num-draft-tokens", "6"), []),
    ],
)
def test_a_tree_needs_its_size(
    tmp_path: Path, version: str, words: tuple[str, ...], expected: list[str]
) -> None:
    assert topics(tmp_path, version, *TREE, *words, "--page-size", "1") == expected


@pytest.mark.parametrize(
    ("version", "expected"),
    [
        ("0.4.9.post4", []),
        ("0.4.9.post5", ["attention.split-speculative"]),
        ("0.5.1.post3", ["attention.split-speculative"]),
        ("0.5.2", []),
    ],
)
def test_one_backend_a_phase(tmp_path: Path, version: str, expected: list[str]) -> None:
    words = ["--attention-backend", "fa3", "--decode-attention-backend", "flashinfer"]
    if version == "0.4.9.post4":
        words = words[:2]  # the flag came with 0.4.9.post5
    assert topics(tmp_path, version, *EAGLE3_FLAGS, *words) == expected


def test_hpc_ops_does_not_speculate(tmp_path: Path) -> None:
    words = (*EAGLE3_FLAGS, "--attention-backend", "hpc_ops")
    assert "attention.hpc-ops-speculative" in topics(tmp_path, "0.5.19", *words)


@pytest.mark.parametrize(
    ("target", "expected"),
    [
        (LLAMA, []),
        (
            change(LLAMA, architectures=["Ernie4_5_ForCausalLM"]),
            ["architecture.target-cannot-capture"],
        ),
    ],
)
def test_a_block_draft_needs_a_target_that_captures(
    tmp_path: Path, target: dict[str, Any], expected: list[str]
) -> None:
    words = ("--speculative-algorithm", "DFLASH")
    found = topics(tmp_path, "0.5.12", *words, target=target, draft=DFLASH)
    assert [topic for topic in found if topic.startswith("architecture.target")] == expected


@pytest.mark.parametrize(("token", "outside"), [(128255, False), (128256, True), (128257, True)])
def test_mask_token_of_a_block_draft(tmp_path: Path, token: int, outside: bool) -> None:
    config = {**DFLASH["dflash_config"], "mask_token_id": token}
    draft = change(DFLASH, dflash_config=config)
    found = topics(tmp_path, "0.5.12", "--speculative-algorithm", "DFLASH", draft=draft)
    assert ("config.mask-token-outside" in found) is outside


@pytest.mark.parametrize(("rank", "stopped"), [(32, False), (0, True)])
def test_dspark_needs_its_markov_head(tmp_path: Path, rank: int, stopped: bool) -> None:
    draft = change(DSPARK, markov_rank=rank)
    found = stops(tmp_path, "0.5.19", "--speculative-algorithm", "DSPARK", draft=draft)
    said = [event for event in found if "markov_rank" in str(event.engine_message)]
    assert bool(said) is stopped
    assert all(event.stage is Stage.DRAFT_CONFIG for event in said)


@pytest.mark.parametrize(("version", "stopped"), [("0.5.22", True), ("0.5.23", False)])
def test_markov_head_where_specforge_writes_it(tmp_path: Path, version: str, stopped: bool) -> None:
    nested = {"markov_rank": 32, "markov_head_type": "vanilla", "target_layer_ids": [1, 29]}
    draft = change(DSPARK, markov_rank=..., markov_head_type=..., dflash_config=nested)
    found = topics(tmp_path, version, "--speculative-algorithm", "DSPARK", draft=draft)
    assert ("config.markov-head" in found) is stopped


@pytest.mark.parametrize(
    ("version", "keys", "expected"),
    [
        ("0.5.11", {"num_hidden_layers": 2}, ["eagle3.config-unfit"]),
        ("0.5.12", {"num_hidden_layers": 2}, []),
        ("0.5.23", {"draft_vocab_size": ...}, ["eagle3.config-unfit"]),
        ("0.5.23", {"draft_vocab_size": None}, []),
    ],
)
def test_config_of_an_eagle3_head(
    tmp_path: Path, version: str, keys: dict[str, Any], expected: list[str]
) -> None:
    draft = change(LLAMA_EAGLE3, **keys)
    assert topics(tmp_path, version, *EAGLE3_FLAGS, draft=draft) == expected


@pytest.mark.parametrize(
    ("target", "expected"),
    [
        (DEEPSEEK, []),
        (change(DEEPSEEK, num_nextn_predict_layers=0), ["AssertionError"]),
        (change(DEEPSEEK, num_nextn_predict_layers=2), ["AssertionError"]),
        (change(DEEPSEEK, num_nextn_predict_layers=...), ["ValueError"]),
    ],
)
def test_layers_of_an_mtp_head(tmp_path: Path, target: dict[str, Any], expected: list[str]) -> None:
    write_checkpoint(tmp_path / "target", target)
    words = ("--speculative-algorithm", "NEXTN", "--trust-remote-code")
    launch = build_launch(str(tmp_path / "target"), engine="sglang@0.5.9", words=words)
    events = ENGINE.resolve(replace(launch, hardware=read_hardware("h100"))).events
    found = [event.exception for event in events if event.topic == "config.mtp-layers"]
    assert found == expected


def test_a_stop_says_what_is_loaded_by_then(tmp_path: Path) -> None:
    draft = change(LLAMA_EAGLE3, draft_vocab_size=...)
    for version, loaded in (
        ("0.5.13", "the target's weights, KV cache and CUDA graphs"),
        ("0.5.14", "the target's weights"),
    ):
        (event,) = stops(tmp_path, version, *EAGLE3_FLAGS, draft=draft)
        assert event.facts["loaded"] == loaded


@pytest.mark.parametrize(
    ("algorithm", "words", "expected"),
    [
        ("STANDALONE", (), ["cache.nvfp4-speculative"]),
        ("EAGLE3", (), []),
        (
            "EAGLE3",
            ("--speculative-draft-attention-backend", "triton"),
            ["cache.nvfp4-speculative"],
        ),
    ],
)
def test_nvfp4_cache_in_a_layout_of_its_own(
    tmp_path: Path, algorithm: str, words: tuple[str, ...], expected: list[str]
) -> None:
    flags = (
        *("--speculative-algorithm", algorithm, *EAGLE3_FLAGS[2:]),
        *("--kv-cache-dtype", "nvfp4", "--attention-backend", "trtllm_mha"),
    )
    draft = LLAMA if algorithm == "STANDALONE" else LLAMA_EAGLE3
    found = topics(tmp_path, "0.5.21", *flags, *words, draft=draft, hardware="b200")
    assert [topic for topic in found if topic.startswith("cache.")] == expected


@pytest.mark.parametrize(
    ("algorithm", "architecture", "stopped"),
    [
        (None, "Eagle3DeepseekV2ForCausalLM", True),
        ("FP8", "Eagle3DeepseekV2ForCausalLM", False),
        (None, "LlamaForCausalLMEagle3", False),
    ],
)
def test_modelopt_file_of_an_unquantised_draft(
    tmp_path: Path, algorithm: str | None, architecture: str, stopped: bool
) -> None:
    mla = {key: value for key, value in DEEPSEEK.items() if key.endswith(("_rank", "_head_dim"))}
    draft = change(LLAMA_EAGLE3, architectures=[architecture], model_type="kimi_k2", **mla)
    written = {"producer": {"name": "modelopt"}, "quantization": {"quant_algo": algorithm}}
    (tmp_path / "draft").mkdir()
    (tmp_path / "draft" / "hf_quant_config.json").write_text(json.dumps(written))
    words = (*EAGLE3_FLAGS, "--speculative-draft-model-quantization", "modelopt_fp8")
    found = topics(tmp_path, "0.5.13", *words, target=DEEPSEEK, draft=draft)
    assert ("quantization.modelopt-without-algorithm" in found) is stopped
