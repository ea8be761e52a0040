"""Which classes a release would build for a launch, and whether they fit the algorithm."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from launches import LLAMA, LLAMA_EAGLE, LLAMA_EAGLE3, change, make_launch

from specpreflight.engines.sglang import ENGINE
from specpreflight.models.finding import Outcome, Stage
from specpreflight.models.resolved import Event, Resolved

DEEPSEEK = change(
    LLAMA, architectures=["DeepseekV3ForCausalLM"], model_type="deepseek_v3", q_lora_rank=1536,
    kv_lora_rank=512, qk_nope_head_dim=128, qk_rope_head_dim=64, v_head_dim=128,
    num_nextn_predict_layers=1, n_routed_experts=8, num_hidden_layers=61,
)  # fmt: skip


def predict(
    folder: Path,
    release: str,
    algorithm: str = "EAGLE3",
    *flags: str,
    target: dict[str, Any] = LLAMA,
    draft: dict[str, Any] = LLAMA_EAGLE3,
) -> Resolved:
    words = (
        "--speculative-algorithm", algorithm, "--speculative-num-steps", "3",
        "--speculative-eagle-topk", "1", "--speculative-num-draft-tokens", "4", *flags,
    )  # fmt: skip
    return ENGINE.resolve(make_launch(folder, target, draft, *words, engine=f"sglang@{release}"))


def of(resolved: Resolved, topic: str) -> list[Event]:
    return [event for event in resolved.events if event.topic == topic]


class TestRegistry:
    @pytest.mark.parametrize("release", ["0.4.9.post6", "0.5.9", "0.5.23"])
    def test_a_draft_class_that_is_not_registered(self, tmp_path: Path, release: str) -> None:
        draft = change(LLAMA_EAGLE3, architectures=["Eagle3Speculator"])
        (event,) = of(predict(tmp_path, release, draft=draft), "architecture.draft-unregistered")
        assert event.stage is Stage.DRAFT_CONFIG
        assert event.outcome is Outcome.CRASHES
        assert "Cannot find model module. 'Eagle3Speculator' is not" in (event.engine_message or "")
        assert event.values[0].origin.pointer == "/architectures"

    @pytest.mark.parametrize("release", ["0.5.9", "0.5.16", "0.5.23"])
    def test_a_draft_class_of_code_that_the_checkpoint_lacks(
        self, tmp_path: Path, release: str
    ) -> None:
        draft = change(
            LLAMA_EAGLE3, architectures=["MyDraft"], auto_map={"AutoModel": "mine.MyDraft"}
        )
        (event,) = of(predict(tmp_path, release, draft=draft), "architecture.draft-unregistered")
        assert event.outcome is Outcome.CRASHES

    def test_a_target_class_that_is_not_registered(self, tmp_path: Path) -> None:
        target = change(LLAMA, architectures=["MyForCausalLM"])
        (event,) = of(predict(tmp_path, "0.5.9", target=target), "architecture.target-unregistered")
        assert event.stage is Stage.TARGET_CONFIG
        assert event.outcome is Outcome.REFUSES

    @pytest.mark.parametrize(
        ("release", "registered"), [("0.5.11", False), ("0.5.12", True), ("0.5.23", True)]
    )
    def test_a_class_that_comes_with_a_release(
        self, tmp_path: Path, release: str, registered: bool
    ) -> None:
        draft = change(DEEPSEEK, architectures=["Eagle3DeepseekV2ForCausalLM"])
        resolved = predict(tmp_path, release, target=DEEPSEEK, draft=draft)
        assert (not of(resolved, "architecture.draft-unregistered")) is registered


class TestRewriting:
    @pytest.mark.parametrize(
        ("architecture", "release", "becomes"),
        [
            ("DeepseekV3ForCausalLM", "0.5.9", "DeepseekV3ForCausalLMNextN"),
            ("MiMoForCausalLM", "0.5.9", "MiMoMTP"),
            ("Qwen3MoeForCausalLM", "0.5.12", "Qwen3MoeForCausalLM"),
            ("Qwen3MoeForCausalLM", "0.5.13", "Qwen3MoeForCausalLMMTP"),
            ("LlamaForCausalLM", "0.5.23", "LlamaForCausalLM"),
        ],
    )
    def test_of_the_draft(
        self, tmp_path: Path, architecture: str, release: str, becomes: str
    ) -> None:
        base = DEEPSEEK if architecture.startswith("Deepseek") else LLAMA
        draft = change(base, architectures=[architecture])
        resolved = predict(tmp_path, release, "STANDALONE", draft=draft)
        assert resolved.value("draft_architecture") == becomes
        assert resolved.facts["draft_is_rewritten"] is (becomes != architecture)


class TestCapture:
    def test_a_target_that_cannot_capture(self, tmp_path: Path) -> None:
        target = change(LLAMA, architectures=["GPT2LMHeadModel"])
        (event,) = of(
            predict(tmp_path, "0.5.9", target=target), "architecture.target-cannot-capture"
        )
        assert event.stage is Stage.WEIGHTS
        assert event.engine_message == (
            "'GPT2LMHeadModel' object has no attribute 'set_eagle3_layers_to_capture'"
        )

    def test_is_said_readably_in_0_5_23(self, tmp_path: Path) -> None:
        target = change(LLAMA, architectures=["GPT2LMHeadModel"])
        (event,) = of(
            predict(tmp_path, "0.5.23", target=target), "architecture.target-cannot-capture"
        )
        assert event.exception == "ValueError"
        assert "does not implement set_eagle3_layers_to_capture" in (event.engine_message or "")

    def test_nothing_is_captured_without_auxiliary_layers(self, tmp_path: Path) -> None:
        draft = change(LLAMA_EAGLE3, eagle_config={"use_aux_hidden_state": False})
        assert predict(tmp_path, "0.5.9", draft=draft).value("aux_layer_ids") is None
        assert predict(tmp_path, "0.5.7", draft=draft).value("aux_layer_ids") == [2, 16, 29]

    @pytest.mark.parametrize(
        ("release", "ids", "captured"),
        [
            ("0.5.9", None, [2, 16, 29]),
            ("0.5.9", [1, 15, 28], [2, 16, 29]),
            ("0.5.9", [5, 15, 20], [6, 16, 21]),
            ("0.4.8", [5, 15, 20], [2, 16, 29]),
        ],
    )
    def test_which_layers(
        self, tmp_path: Path, release: str, ids: list[int] | None, captured: list[int]
    ) -> None:
        config = {"eagle_aux_hidden_state_layer_ids": ids} if ids else {}
        draft = change(LLAMA_EAGLE3, eagle_config=config)
        assert predict(tmp_path, release, draft=draft).value("aux_layer_ids") == captured

    @pytest.mark.parametrize(
        ("release", "first", "captured"),
        [("0.5.12", 2, 3), ("0.5.13", 2, 2), ("0.5.13", 1, 2)],
    )
    def test_deepseek_targets_take_ids_as_they_are_from_0_5_13_on(
        self, tmp_path: Path, release: str, first: int, captured: int
    ) -> None:
        ids = {"eagle_aux_hidden_state_layer_ids": [first, 30, 58]}
        draft = change(LLAMA_EAGLE3, eagle_config=ids)
        resolved = predict(tmp_path, release, target=DEEPSEEK, draft=draft)
        assert resolved.value("aux_layer_ids")[0] == captured

    @pytest.mark.parametrize(
        ("release", "flags", "told"),
        [
            ("0.4.8", (), False),
            ("0.4.9", (), True),
            ("0.5.10.post1", (), True),
            ("0.5.10.post1", ("--disable-cuda-graph",), False),
            ("0.5.11", (), False),
        ],
    )
    def test_graphs_with_the_default_layers(
        self, tmp_path: Path, release: str, flags: tuple[str, ...], told: bool
    ) -> None:
        ids = {"eagle_aux_hidden_state_layer_ids": [5, 15, 20]}
        draft = change(LLAMA_EAGLE3, eagle_config=ids)
        resolved = predict(tmp_path, release, "EAGLE3", *flags, draft=draft)
        assert bool(of(resolved, "eagle3.graphs-default-layers")) is told


class TestWrongMethod:
    @pytest.mark.parametrize("release", ["0.4.9.post6", "0.5.9", "0.5.23"])
    def test_an_eagle3_draft_run_as_eagle_accepts_nothing(
        self, tmp_path: Path, release: str
    ) -> None:
        (event,) = of(predict(tmp_path, release, "EAGLE"), "eagle3.algorithm-eagle")
        assert event.outcome is Outcome.ACCEPTS_NOTHING

    def test_an_eagle_draft_run_as_eagle3_crashes(self, tmp_path: Path) -> None:
        (event,) = of(predict(tmp_path, "0.5.9", draft=LLAMA_EAGLE), "eagle3.draft-not-eagle3")
        assert event.outcome is Outcome.CRASHES
        assert event.exception == "AttributeError"

    @pytest.mark.parametrize(
        ("release", "told"),
        [("0.5.7", False), ("0.5.8", True), ("0.5.14", True), ("0.5.15", False)],
    )
    def test_eagle_config_that_is_null(self, tmp_path: Path, release: str, told: bool) -> None:
        draft = change(LLAMA_EAGLE3, eagle_config=None)
        assert bool(of(predict(tmp_path, release, draft=draft), "eagle3.config-null")) is told
