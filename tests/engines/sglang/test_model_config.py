"""What a release makes of a config: its class, types, dtype, quantisation and architecture."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from launches import DEEPSEEK, EAGLE3_FLAGS, LLAMA, LLAMA_EAGLE3, change, make_launch

from specpreflight.engines.sglang import ENGINE
from specpreflight.models.finding import STOPPING, Stage
from specpreflight.models.resolved import Event, Resolved
from specpreflight.sources.hardware import read_hardware


def predict(
    folder: Path,
    release: str,
    *flags: str,
    target: dict[str, Any] = LLAMA,
    draft: dict[str, Any] = LLAMA_EAGLE3,
) -> Resolved:
    launch = make_launch(folder, target, draft, *EAGLE3_FLAGS, *flags, engine=f"sglang@{release}")
    return ENGINE.resolve(launch)


def stop(resolved: Resolved) -> Event:
    return next(event for event in resolved.events if event.outcome in STOPPING)


def stops(resolved: Resolved) -> list[str]:
    return [event.topic for event in resolved.events if event.outcome in STOPPING]


class TestTypes:
    """transformers 5 checks the declared types of a config; transformers 4 takes what is there."""

    @pytest.mark.parametrize(
        ("changes", "field"),
        [
            ({"num_hidden_layers": "1"}, "num_hidden_layers"),
            ({"max_position_embeddings": None}, "max_position_embeddings"),
            ({"rms_norm_eps": "1e-5"}, "rms_norm_eps"),
            ({"tie_word_embeddings": "no"}, "tie_word_embeddings"),
        ],
    )
    def test_a_wrong_type_stops_from_transformers_5_on(
        self, tmp_path: Path, changes: dict[str, Any], field: str
    ) -> None:
        event = stop(predict(tmp_path, "0.5.11", draft=change(LLAMA_EAGLE3, **changes)))
        assert event.topic == "config.wrong-type"
        assert event.exception == "StrictDataclassFieldValidationError"
        assert f"Validation error for field '{field}'" in (event.engine_message or "")
        assert event.values[0].origin.pointer == f"/{field}"
        assert event.values[0].origin.line is not None

    def test_the_same_is_taken_by_transformers_4(self, tmp_path: Path) -> None:
        draft = change(LLAMA_EAGLE3, rms_norm_eps="1e-5")
        assert stops(predict(tmp_path, "0.5.9", draft=draft)) == []

    @pytest.mark.parametrize(("release", "refused"), [("0.5.21", True), ("0.5.22", False)])
    def test_architectures_as_text_is_a_type_error_only_while_types_are_checked(
        self, tmp_path: Path, release: str, refused: bool
    ) -> None:
        draft = change(LLAMA_EAGLE3, architectures="LlamaForCausalLMEagle3")
        topics = stops(predict(tmp_path, release, draft=draft))
        assert ("config.wrong-type" in topics) is refused
        assert topics

    def test_contradicting_values(self, tmp_path: Path) -> None:
        event = stop(predict(tmp_path, "0.5.11", draft=change(LLAMA_EAGLE3, hidden_size=4095)))
        assert event.topic == "config.inconsistent"
        assert "The hidden size (4095) is not a multiple" in (event.engine_message or "")


class TestModelType:
    """`model_type` decides which class reads the rest."""

    def test_one_that_the_pinned_transformers_does_not_know(self, tmp_path: Path) -> None:
        target = change(LLAMA, model_type="gpt_oss", architectures=["GptOssForCausalLM"])
        before = stop(predict(tmp_path / "a", "0.4.9.post6", target=target))
        assert before.topic == "config.unknown-model-type"
        assert before.stage is Stage.TARGET_CONFIG
        assert "has model type `gpt_oss`" in (before.engine_message or "")

    def test_one_that_the_release_brings_itself(self, tmp_path: Path) -> None:
        target = change(
            LLAMA, model_type="kimi_k2", architectures=["DeepseekV3ForCausalLM"], q_lora_rank=1536,
            kv_lora_rank=512, qk_nope_head_dim=128, qk_rope_head_dim=64, v_head_dim=128,
        )  # fmt: skip
        assert stop(predict(tmp_path / "a", "0.5.11", target=target)).topic == (
            "config.unknown-model-type"
        )
        assert stops(predict(tmp_path / "b", "0.5.12", target=target)) == []

    @pytest.mark.parametrize("release", ["0.5.9", "0.5.11", "0.5.23"])
    def test_none_at_all(self, tmp_path: Path, release: str) -> None:
        event = stop(predict(tmp_path, release, draft=change(LLAMA_EAGLE3, model_type=...)))
        assert event.topic == "config.missing-model-type"
        assert event.stage is Stage.DRAFT_CONFIG


class TestRemoteCode:
    """A config whose class is code in the checkpoint needs the flag; the code is never run."""

    REMOTE = change(
        LLAMA, model_type="mine", auto_map={"AutoConfig": "configuration_mine.MyConfig"}
    )

    def test_is_refused_without_the_flag(self, tmp_path: Path) -> None:
        event = stop(predict(tmp_path, "0.5.9", target=self.REMOTE))
        assert event.topic == "config.remote-code"
        assert "contains custom code which must be executed" in (event.engine_message or "")

    def test_counts_by_its_keys_with_the_flag(self, tmp_path: Path) -> None:
        resolved = predict(tmp_path, "0.5.9", "--trust-remote-code", target=self.REMOTE)
        assert stops(resolved) == []
        assert resolved.value("context_length") == 131072


class TestDtype:
    """Both models get their own dtype from their own config, or `--dtype`."""

    @pytest.mark.parametrize(
        ("release", "changes", "dtype"),
        [
            ("0.5.2", {}, "bfloat16"),
            ("0.5.2", {"torch_dtype": ..., "dtype": "bfloat16"}, "bfloat16"),
            ("0.4.9.post6", {"torch_dtype": ..., "dtype": "bfloat16"}, "float16"),
            ("0.5.9", {"torch_dtype": ..., "dtype": "bfloat16"}, "bfloat16"),
            ("0.5.9", {"torch_dtype": ...}, "float16"),
            ("0.5.9", {"torch_dtype": "float32"}, "float16"),
            ("0.5.23", {"torch_dtype": None}, "float16"),
        ],
    )
    def test_of_the_draft(
        self, tmp_path: Path, release: str, changes: dict[str, Any], dtype: str
    ) -> None:
        resolved = predict(tmp_path, release, draft=change(LLAMA_EAGLE3, **changes))
        assert resolved.value("draft_dtype") == dtype
        assert resolved.value("target_dtype") == "bfloat16"

    def test_the_flag_holds_for_both(self, tmp_path: Path) -> None:
        resolved = predict(tmp_path, "0.5.9", "--dtype", "half")
        assert resolved.value("draft_dtype") == resolved.value("target_dtype") == "float16"

    def test_one_that_torch_does_not_have(self, tmp_path: Path) -> None:
        event = stop(predict(tmp_path, "0.5.9", draft=change(LLAMA_EAGLE3, torch_dtype="bf16")))
        assert event.topic == "dtype.unknown"
        assert event.engine_message == "module 'torch' has no attribute 'bf16'"


AWQ = {"quant_method": "awq", "bits": 4, "group_size": 128, "zero_point": True, "version": "gemm"}


class TestQuantization:
    """The checkpoint's own method against the flag's."""

    def test_a_target_that_contradicts_the_flag(self, tmp_path: Path) -> None:
        target = change(LLAMA, quantization_config=AWQ)
        event = stop(predict(tmp_path, "0.5.9", "--quantization", "fp8", target=target))
        assert event.topic == "quantization.mismatch"
        assert "(awq) does not match" in (event.engine_message or "")

    @pytest.mark.parametrize(("release", "refused"), [("0.5.6", True), ("0.5.6.post1", False)])
    def test_a_draft_that_contradicts_the_flag_is_taken_from_0_5_6_post1_on(
        self, tmp_path: Path, release: str, refused: bool
    ) -> None:
        draft = change(LLAMA_EAGLE3, quantization_config=AWQ)
        resolved = predict(tmp_path, release, "--quantization", "fp8", draft=draft)
        assert ("quantization.mismatch" in stops(resolved)) is refused

    def test_a_draft_inherits_the_flag(self, tmp_path: Path) -> None:
        resolved = predict(tmp_path, "0.5.9", "--quantization", "fp8")
        assert resolved.value("draft_quantization") == "fp8"

    def test_unless_it_has_its_own(self, tmp_path: Path) -> None:
        flags = ("--quantization", "fp8", "--speculative-draft-model-quantization", "unquant")
        assert predict(tmp_path, "0.5.9", *flags).value("draft_quantization") is None

    def test_a_method_that_no_release_has(self, tmp_path: Path) -> None:
        draft = change(LLAMA_EAGLE3, quantization_config={"quant_method": "nf3"})
        event = stop(predict(tmp_path, "0.5.9", draft=draft))
        assert event.topic == "quantization.unknown"
        assert "Unknown quantization method: nf3. Must be one of [" in (event.engine_message or "")


def test_two_problems_are_both_told(tmp_path: Path) -> None:
    resolved = predict(
        tmp_path,
        "0.5.9",
        target=change(LLAMA, architectures=["MyForCausalLM"]),
        draft=change(LLAMA_EAGLE3, max_position_embeddings=4096),
    )
    assert {"architecture.target-unregistered", "context.draft-shorter"} <= set(stops(resolved))


def test_a_class_whose_code_is_not_at_hand_is_unknown_not_wrong(tmp_path: Path) -> None:
    target = change(LLAMA, model_type="vit", architectures=["ViTModel"])
    resolved = predict(tmp_path, "0.5.9", target=target)
    assert resolved.value("context_length") is None
    assert "config.rejected" not in stops(resolved)


@pytest.mark.parametrize("version", ["0.5.9", "0.5.13", "0.5.23"])
def test_what_only_remote_code_could_add_counts_as_absent(tmp_path: Path, version: str) -> None:
    """DeepSeek-V3 brings its config class along; it is no sparse model for that."""
    target = change(DEEPSEEK, auto_map={"AutoConfig": "configuration_deepseek.DeepseekV3Config"})
    words = (*EAGLE3_FLAGS, "--trust-remote-code")
    launch = make_launch(tmp_path, target, None, *words, engine=f"sglang@{version}")
    resolved = ENGINE.resolve(replace(launch, hardware=read_hardware("h100")))
    assert resolved.value("attention_backend") == "fa3"


@pytest.mark.parametrize("version", ["0.4.6.post5", "0.4.8.post1", "0.4.9.post6", "0.5.23"])
@pytest.mark.parametrize("method", ["awq", "gptq"])
def test_a_quantised_target_is_looked_at_by_every_method(
    tmp_path: Path, version: str, method: str
) -> None:
    scheme = {"quant_method": method, "bits": 4, "group_size": 128}
    scheme |= {"zero_point": True} if method == "awq" else {"desc_act": False, "sym": True}
    target = change(LLAMA, quantization_config=scheme, torch_dtype="float16")
    events = predict(tmp_path, version, target=target).events
    assert not [event for event in events if event.topic.startswith("config.")]
