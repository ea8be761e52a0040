"""Which quantisation method a release takes for a checkpoint, as its real code was seen to."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from launches import LLAMA, LLAMA_EAGLE3
from vllm_launches import resolve

GPTQ = {"quant_method": "gptq", "bits": 4, "group_size": 128, "desc_act": False, "sym": True}
AWQ = {"quant_method": "awq", "bits": 4, "group_size": 128, "zero_point": True}
MODELOPT = {"quant_method": "modelopt", "quant_algo": "FP8"}
ROUND = {"quant_method": "auto-round", "bits": 4, "group_size": 128, "sym": True}
EXPORT = {
    "quantization": {
        "quant_algo": "NVFP4",
        "group_size": 16,
        "kv_cache_quant_algo": None,
        "exclude_modules": [],
    },
    "producer": {"name": "modelopt"},
}
BARE_EXPORT = {"quantization": {"quant_algo": "NVFP4"}, "producer": {"name": "modelopt"}}


def refusals(
    directory: Path, version: str, settings: Any, *words: str, role: str = "target", **keys: str
) -> list[str]:
    """Return what vLLM says against a quantised target, or draft with `quantization` of its own."""
    configs = {"target": LLAMA, "draft": LLAMA_EAGLE3}
    configs[role] = {**configs[role], "quantization_config": settings}
    speculative = {"method": "eagle3", "num_speculative_tokens": 3, **keys}
    events = resolve(directory, version, *words, speculative=speculative, **configs).events
    return [e.engine_message or "" for e in events if e.topic.startswith("quantization.")]


@pytest.mark.parametrize(
    ("version", "settings", "asked"),
    [
        ("0.16.0", GPTQ, "moe_wna16"),
        ("0.33.0", GPTQ, "marlin"),
        ("0.33.0", AWQ, "marlin"),
        ("0.24.0", MODELOPT, "awq"),
        ("0.29.0", ROUND, "mxfp4"),
        ("0.33.0", EXPORT, "gptq"),
    ],
)
@pytest.mark.parametrize("role", ["target", "draft"])
def test_a_class_that_takes_over_replaces_what_was_asked(
    tmp_path: Path, version: str, settings: Any, asked: str, role: str
):
    words = ("--quantization", asked) if role == "target" else ()
    keys = {"quantization": asked} if role == "draft" else {}
    assert refusals(tmp_path, version, settings, *words, role=role, **keys) == []


@pytest.mark.parametrize(
    ("version", "settings", "asked", "named"),
    [
        ("0.33.0", GPTQ, "fp8", "gptq"),
        ("0.16.0", {**GPTQ, "bits": 3}, "fp8", "gptq"),
        ("0.20.2", AWQ, "modelopt", "awq"),
        ("0.16.0", EXPORT, "modelopt", "modelopt_fp4"),
        ("0.24.0", {**GPTQ, "desc_act": True}, "moe_wna16", "gptq"),
    ],
)
def test_another_method_is_refused_by_its_written_name(
    tmp_path: Path, version: str, settings: Any, asked: str, named: str
):
    said = refusals(tmp_path, version, settings, "--quantization", asked)
    assert said[0].startswith(f"Quantization method specified in the model config ({named})")


@pytest.mark.parametrize(
    ("version", "settings", "words", "said"),
    [
        ("0.33.0", {"quant_method": "gptq"}, (), "Cannot find any of ['bits'] in the model's"),
        ("0.24.0", {**MODELOPT, "quant_algo": ""}, (), "Missing 'quant_algo'"),
        ("0.10.2", {**GPTQ, "sym": False}, (), "torch.bfloat16 is not supported for quant"),
        (
            "0.24.0",
            {"quant_method": "fp8", "activation_scheme": "dynamic", "weight_block_size": [128]},
            (),
            "The quantization block size of weight must have 2 dimensions, but got 1",
        ),
        ("0.31.0", BARE_EXPORT, (), "NVFP4 quantization requires the following fields"),
        ("0.33.0", {**AWQ, "bits": 8}, (), "Unsupported num_bits = 8. Supported: 4."),
        (
            "0.18.1",
            {"quant_method": "modelopt", "quant_algo": "MXFP8"},
            (),
            "The quantization method modelopt_mxfp8 is not supported for the current GPU. Minimum",
        ),
        (
            "0.11.2",
            None,
            ("--quantization", "compressed-tensors"),
            "CompressedTensorsConfig.__init__() missing 5 required positional arguments: 'target_",
        ),
        ("0.33.0", None, ("--quantization", "quark"), "QuarkConfig.__init__() missing 1 required"),
        ("0.33.0", None, ("--quantization", "inc"), "Cannot find the config file for inc"),
    ],
)
def test_the_targets_class_reads_its_settings_before_loading(
    tmp_path: Path, version: str, settings: Any, words: tuple[str, ...], said: str
):
    assert refusals(tmp_path, version, settings, *words)[0].startswith(said)


def test_the_drafts_class_reads_its_settings_only_when_it_is_loaded(tmp_path: Path):
    assert refusals(tmp_path, "0.33.0", {"quant_method": "gptq"}, role="draft") == []
