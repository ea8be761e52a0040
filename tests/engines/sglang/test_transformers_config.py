"""How each pinned transformers reads a config.json: JSON, classes, their defaults, RoPE."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from launches import EAGLE3_FLAGS, LLAMA, LLAMA_EAGLE3, change, make_launch

from specpreflight.api import build_launch
from specpreflight.engines.sglang import ENGINE
from specpreflight.models.finding import STOPPING
from specpreflight.models.resolved import Event, Resolved

#: Pins transformers 4.57.1 and 5.3.0.
RELEASES = ("0.5.9", "0.5.11")

QWEN3 = change(LLAMA, architectures=["Qwen3ForCausalLM"], model_type="qwen3")


def predict(
    folder: Path,
    release: str,
    *flags: str,
    target: dict[str, Any] = LLAMA,
    draft: dict[str, Any] = LLAMA_EAGLE3,
) -> Resolved:
    words = (*EAGLE3_FLAGS, *flags)
    return ENGINE.resolve(make_launch(folder, target, draft, *words, engine=f"sglang@{release}"))


def stopping(resolved: Resolved) -> list[Event]:
    return [event for event in resolved.events if event.outcome in STOPPING]


class TestDefaults:
    """A key that is not there counts with its class's default."""

    @pytest.mark.parametrize("release", RELEASES)
    @pytest.mark.parametrize(("model", "length"), [(LLAMA, 2048), (QWEN3, 32768)])
    def test_a_missing_length(
        self, tmp_path: Path, release: str, model: dict[str, Any], length: int
    ) -> None:
        draft = change(
            model,
            architectures=["LlamaForCausalLMEagle3"],
            max_position_embeddings=...,
            draft_vocab_size=32000,
            num_hidden_layers=1,
        )
        (event,) = stopping(predict(tmp_path, release, draft=draft))
        assert event.topic == "context.draft-shorter"
        assert event.facts["derived"] == length

    @pytest.mark.parametrize("release", RELEASES)
    def test_an_alias_counts_as_the_key(self, tmp_path: Path, release: str) -> None:
        gpt2 = {
            "architectures": ["GPT2LMHeadModel"],
            "model_type": "gpt2",
            "n_positions": 4096,
            "n_embd": 768,
            "n_head": 12,
            "n_layer": 12,
            "vocab_size": 50257,
        }
        resolved = predict(tmp_path, release, target=gpt2)
        assert resolved.values["context_length"].value == 4096

    @pytest.mark.parametrize("release", RELEASES)
    def test_changes_on_the_command_line_come_after_the_file(
        self, tmp_path: Path, release: str
    ) -> None:
        changes = json.dumps({"max_position_embeddings": 8192})
        resolved = predict(tmp_path, release, "--json-model-override-args", changes)
        assert resolved.values["context_length"].value == 8192


class TestRope:
    """RoPE scaling stretches the length, except where the file's length counts already."""

    @pytest.mark.parametrize("release", RELEASES)
    @pytest.mark.parametrize(
        ("scaling", "length"),
        [
            ({"rope_type": "linear", "factor": 4.0}, 16384),
            ({"rope_type": "dynamic", "factor": 4.0}, 16384),
            (
                {"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 4096},
                4096,
            ),
            (
                {
                    "rope_type": "llama3",
                    "factor": 8.0,
                    "low_freq_factor": 1.0,
                    "high_freq_factor": 4.0,
                    "original_max_position_embeddings": 2048,
                },
                4096,
            ),
        ],
    )
    def test_the_factor(
        self, tmp_path: Path, release: str, scaling: dict[str, Any], length: int
    ) -> None:
        target = change(LLAMA, max_position_embeddings=4096, rope_scaling=scaling)
        resolved = predict(tmp_path, release, target=target)
        assert resolved.values["context_length"].value == length

    def test_the_name_of_transformers_5(self, tmp_path: Path) -> None:
        scaling = {"rope_type": "linear", "factor": 4.0, "rope_theta": 10000.0}
        target = change(
            LLAMA, max_position_embeddings=4096, rope_parameters=scaling, rope_theta=...
        )
        lengths = [
            predict(tmp_path / release, release, target=target).values["context_length"].value
            for release in RELEASES
        ]
        assert lengths == [4096, 16384]


class TestModelType:
    @pytest.mark.parametrize("release", RELEASES)
    def test_nobody_knows_it(self, tmp_path: Path, release: str) -> None:
        (event,) = stopping(
            predict(tmp_path, release, draft=change(LLAMA_EAGLE3, model_type="llama9"))
        )
        assert event.topic == "config.unknown-model-type"
        assert "`llama9`" in (event.engine_message or "")
        assert event.values[0].origin.pointer == "/model_type"

    @pytest.mark.parametrize("release", RELEASES)
    def test_it_is_missing(self, tmp_path: Path, release: str) -> None:
        (event,) = stopping(predict(tmp_path, release, draft=change(LLAMA_EAGLE3, model_type=...)))
        assert event.topic == "config.missing-model-type"

    def test_remote_code_needs_trust(self, tmp_path: Path) -> None:
        draft = change(
            LLAMA_EAGLE3,
            model_type="own_llama",
            auto_map={"AutoConfig": "configuration_own.OwnConfig"},
        )
        (event,) = stopping(predict(tmp_path, "0.5.11", draft=draft))
        assert event.topic == "config.remote-code"
        assert "trust_remote_code" in (event.engine_message or "")
        trusted = predict(tmp_path, "0.5.11", "--trust-remote-code", draft=draft)
        assert stopping(trusted) == []
        assert trusted.values["draft_context_length"].value == 131072


class TestJson:
    """What Python's `json` takes, the engine takes: the last of two equal keys, and NaN."""

    @pytest.mark.parametrize("release", RELEASES)
    def test_the_last_of_two_equal_keys_counts(self, tmp_path: Path, release: str) -> None:
        make_launch(tmp_path, engine=f"sglang@{release}")
        file = tmp_path / "draft" / "config.json"
        text = file.read_text().rstrip().removesuffix("}").rstrip()
        file.write_text(text + ',\n  "max_position_embeddings": 2048\n}\n')
        again = build_launch(
            str(tmp_path / "target"),
            str(tmp_path / "draft"),
            engine=f"sglang@{release}",
            words=EAGLE3_FLAGS,
        )
        (event,) = stopping(ENGINE.resolve(again))
        assert event.facts["derived"] == 2048

    @pytest.mark.parametrize("release", RELEASES)
    def test_a_list_is_no_config(self, tmp_path: Path, release: str) -> None:
        make_launch(tmp_path, engine=f"sglang@{release}")
        (tmp_path / "draft" / "config.json").write_text("[]\n")
        again = build_launch(
            str(tmp_path / "target"),
            str(tmp_path / "draft"),
            engine=f"sglang@{release}",
            words=EAGLE3_FLAGS,
        )
        assert stopping(ENGINE.resolve(again)) != []
