"""What vLLM makes of a launch: method, runner, lengths, and the order of its refusals."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from launches import LLAMA, LLAMA_EAGLE3, change
from vllm_launches import EAGLE3, resolve, topics

INDEPENDENT = {"method": "draft_model", "num_speculative_tokens": 3}
NGRAM = {"method": "ngram", "model": ..., "num_speculative_tokens": 3, "prompt_lookup_max": 3}
MTP_TARGET = change(
    LLAMA,
    architectures=["DeepseekV3ForCausalLM"],
    model_type="deepseek_v3",
    num_nextn_predict_layers=1,
)
MOE = change(LLAMA, architectures=["MixtralForCausalLM"], model_type="mixtral", num_local_experts=8)


@pytest.mark.parametrize(
    ("version", "name", "speculative", "draft", "method"),
    [
        ("0.20.2", "draft", EAGLE3, {}, "eagle3"),
        ("0.20.2", "eagle-1", {"num_speculative_tokens": 3}, {}, "eagle"),
        ("0.20.2", "my-Eagle3", {"num_speculative_tokens": 3}, {}, "eagle3"),
        ("0.20.2", "eagle-eagle3", {"num_speculative_tokens": 3}, {}, "eagle"),
        ("0.20.2", "my-dflash", {"num_speculative_tokens": 3}, {}, "dflash"),
        ("0.19.1", "my-dflash", {"num_speculative_tokens": 3}, {}, "draft_model"),
        ("0.16.0", "draft", {"num_speculative_tokens": 3}, {}, None),
        ("0.17.0", "draft", {"num_speculative_tokens": 3}, {}, "draft_model"),
        ("0.20.2", "eagle3", {"method": "eagle", "num_speculative_tokens": 3}, {}, "eagle"),
        ("0.32.0", "draft", {"num_speculative_tokens": 3}, {"model_type": "medusa"}, "medusa"),
        ("0.20.2", "draft", NGRAM, {}, "ngram"),
    ],
)
def test_method(
    tmp_path: Path,
    version: str,
    name: str,
    speculative: dict[str, Any],
    draft: dict[str, Any],
    method: str | None,
) -> None:
    got = resolve(
        tmp_path,
        version,
        speculative=speculative,
        draft={**LLAMA_EAGLE3, **draft},
        draft_name=name,
    )
    assert got.value("method") == method


@pytest.mark.parametrize(
    ("version", "given", "expected"),
    [
        ("0.10.2", "deepseek_mtp", "deepseek_mtp"),
        ("0.11.0", "deepseek_mtp", "mtp"),
        ("0.33.0", "mtp", "mtp"),
    ],
)
def test_method_of_layers_inside_the_target(
    tmp_path: Path, version: str, given: str, expected: str
) -> None:
    speculative = {"method": given, "model": ..., "num_speculative_tokens": 1}
    got = resolve(tmp_path, version, speculative=speculative, target=MTP_TARGET)
    assert got.value("method") == expected
    assert got.value("draft_architecture") == "DeepSeekMTPModel"


@pytest.mark.parametrize(
    ("version", "given", "runner"),
    [
        ("0.11.2", {"environment": {"VLLM_USE_V2_MODEL_RUNNER": "1"}}, "V1"),
        ("0.20.2", {}, "V1"),
        ("0.20.2", {"environment": {"VLLM_USE_V2_MODEL_RUNNER": "1"}}, "V2"),
        ("0.25.0", {}, "V2"),
        ("0.25.0", {"target": MOE}, "V1"),
        ("0.29.0", {"target": MOE}, "V2"),
        ("0.29.0", {"speculative": NGRAM}, "V1"),
        ("0.33.0", {"environment": {"VLLM_USE_V2_MODEL_RUNNER": "0"}}, "V1"),
        ("0.33.0", {}, "V2"),
    ],
)
def test_runner(tmp_path: Path, version: str, given: dict[str, Any], runner: str) -> None:
    assert resolve(tmp_path, version, **given).value("model_runner") == runner


@pytest.mark.parametrize(
    ("target", "words", "length"),
    [
        ({}, (), 131072),
        ({"max_position_embeddings": 4096, "seq_length": 2048}, (), 2048),
        ({"max_position_embeddings": ..., "n_positions": 512}, (), 512),
        ({"rope_scaling": {"rope_type": "linear", "factor": 2.0}}, (), 262144),
        ({"rope_scaling": {"rope_type": "dynamic", "factor": 4.0}}, (), 524288),
        ({}, ("--max-model-len", "1k"), 1000),
        ({"model_max_length": 262144}, ("--max-model-len", "200000"), 200000),
    ],
)
def test_length_of_the_target(
    tmp_path: Path, target: dict[str, Any], words: tuple[str, ...], length: int
) -> None:
    got = resolve(tmp_path, "0.20.2", *words, target=change(LLAMA, **target))
    assert got.value("context_length") == length


@pytest.mark.parametrize(
    ("version", "draft", "given", "length"),
    [
        ("0.20.2", 131071, {}, 131071),
        ("0.20.2", 131072, {}, 131072),
        ("0.20.2", 262144, {}, 131072),
        ("0.20.2", 131072, {"max_model_len": 100}, 100),
        ("0.33.0", 131071, {}, 131071),
    ],
)
def test_length_of_the_draft(
    tmp_path: Path, version: str, draft: int, given: dict[str, Any], length: int
) -> None:
    got = resolve(
        tmp_path,
        version,
        speculative={**EAGLE3, **given},
        draft=change(LLAMA_EAGLE3, max_position_embeddings=draft),
    )
    assert got.value("draft_context_length") == length


def test_a_broken_target_comes_before_a_broken_draft(tmp_path: Path) -> None:
    broken = {"model_type": "no_such_type"}
    both = {"target": {**LLAMA, **broken}, "draft": {**LLAMA_EAGLE3, **broken}}
    assert topics(tmp_path, "0.20.2", **both) == ["config.unknown-model-type"]
    events = resolve(tmp_path, "0.20.2", draft=both["draft"]).events
    assert [event.stage.value for event in events][:1] == ["draft-config"]


def test_a_target_of_the_speculators_format_names_the_model_to_serve(tmp_path: Path) -> None:
    draft = {
        "architectures": ["Eagle3Speculator"],
        "speculators_model_type": "eagle3",
        "speculators_config": {
            "algorithm": "eagle3",
            "proposal_methods": [{"proposal_type": "greedy", "speculative_tokens": 3}],
            "verifier": {"name_or_path": "org/model", "architectures": ["LlamaForCausalLM"]},
        },
        "transformer_layer_config": LLAMA,
    }
    got = resolve(tmp_path, "0.20.2", speculative=None, target=draft)
    assert got.events == ()
    assert "org/model" in dict(got.unknown)["target"]
    offline = {"HF_HUB_OFFLINE": "1"}
    assert topics(tmp_path, "0.20.2", speculative=None, target=draft, environment=offline) == [
        "config.missing"
    ]
    del draft["speculators_config"]["verifier"]  # type: ignore[attr-defined]
    assert topics(tmp_path, "0.20.2", speculative=None, target=draft) == ["config.rejected"]


@pytest.mark.parametrize("version", ["0.10.2", "0.16.0", "0.33.0"])
def test_a_draft_of_the_old_eagle_format_holds_its_model_inside(
    tmp_path: Path, version: str
) -> None:
    inner = change(LLAMA, num_hidden_layers=1)
    draft = {"model_type": "eagle", "model": inner}
    speculative = {"method": "eagle", "num_speculative_tokens": 3}
    got = resolve(tmp_path, version, speculative=speculative, draft=draft)
    assert got.value("draft_architecture") == "EagleLlamaForCausalLM"
    assert got.value("draft_context_length") == 131072


def test_no_speculation_is_a_launch_too(tmp_path: Path) -> None:
    got = resolve(tmp_path, "0.33.0", speculative=None)
    assert got.events == ()
    assert got.value("context_length") == 131072
    assert got.value("method") is None


def test_a_name_that_wrapping_made_is_looked_up_at_loading(tmp_path: Path) -> None:
    """Early releases put `Eagle` before a name, and look before the weights at the old one only."""
    draft = change(
        LLAMA, architectures=["Qwen2ForCausalLM"], model_type="qwen2", num_hidden_layers=1
    )
    speculative = {"method": "eagle", "num_speculative_tokens": 3}
    got = resolve(tmp_path, "0.10.2", speculative=speculative, draft=draft)
    assert got.value("draft_architecture") == "EagleQwen2ForCausalLM"
    assert [(event.topic, event.stage.value) for event in got.events] == [
        ("architecture.draft-unregistered", "weights")
    ]


@pytest.mark.parametrize("version", ["0.10.1", "0.15.0", "0.21.0", "0.26.0", "0.30.0"])
def test_releases_between_the_recorded_ones_are_predicted(tmp_path: Path, version: str) -> None:
    got = resolve(tmp_path, version)
    assert got.value("draft_architecture") == "LlamaForCausalLMEagle3"
    assert got.value("context_length") == 131072
