"""The context-length rule, release by release, on both sides of every boundary."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from launches import EAGLE3_FLAGS, LLAMA, LLAMA_EAGLE3, change, make_launch

from specpreflight.engines.sglang import ENGINE
from specpreflight.models.finding import Outcome, Stage
from specpreflight.models.resolved import Event, Resolved

OVERRIDE = "SGLANG_ALLOW_OVERWRITE_LONGER_CONTEXT_LEN"
NESTED = {
    "architectures": ["Qwen2_5_VLForConditionalGeneration"],
    "model_type": "qwen2_5_vl",
    "torch_dtype": "bfloat16",
    "text_config": change(LLAMA, model_type="qwen2_5_vl_text", max_position_embeddings=65536),
    "vision_config": {"model_type": "qwen2_5_vl"},
    **change(LLAMA, architectures=..., model_type=..., max_position_embeddings=65536),
}


def predict(
    folder: Path,
    release: str,
    *flags: str,
    target: dict[str, Any] = LLAMA,
    draft: dict[str, Any] = LLAMA_EAGLE3,
    **environment: str,
) -> Resolved:
    launch = make_launch(
        folder,
        target,
        draft,
        *EAGLE3_FLAGS,
        *flags,
        engine=f"sglang@{release}",
        environment=environment,
    )
    return ENGINE.resolve(launch)


def of(resolved: Resolved, topic: str) -> list[Event]:
    return [event for event in resolved.events if event.topic == topic]


def shorter(resolved: Resolved) -> list[Event]:
    return of(resolved, "context.draft-shorter")


def draft_of(length: Any, **changes: Any) -> dict[str, Any]:
    return change(LLAMA_EAGLE3, max_position_embeddings=length, **changes)


@pytest.mark.parametrize("release", ["0.5.1", "0.5.2", "0.5.9", "0.5.11", "0.5.16", "0.5.23"])
@pytest.mark.parametrize(("length", "stops"), [(131071, True), (131072, False), (131073, False)])
def test_a_shorter_draft_stops_from_0_5_1_on(
    tmp_path: Path, release: str, length: int, stops: bool
) -> None:
    found = shorter(predict(tmp_path, release, draft=draft_of(length)))
    assert bool(found) is stops
    for event in found:
        assert (event.stage, event.outcome) == (Stage.DRAFT_CONFIG, Outcome.CRASHES)
        assert (event.facts["wanted"], event.facts["derived"]) == (131072, length)
        assert f"({length})" in (event.engine_message or "")


@pytest.mark.parametrize("release", ["0.4.6.post5", "0.4.9.post6", "0.4.10.post2"])
def test_earlier_releases_let_it_through_with_a_warning(tmp_path: Path, release: str) -> None:
    resolved = predict(tmp_path, release, draft=draft_of(4096))
    assert shorter(resolved) == []
    (event,) = of(resolved, "context.draft-let-through")
    assert event.outcome is Outcome.ADJUSTS
    assert (event.facts["wanted"], event.facts["derived"]) == (131072, 4096)


@pytest.mark.parametrize(
    ("release", "topic"),
    [
        ("0.5.2", "context.draft-let-through"),
        ("0.5.9", "context.draft-overridden"),
        ("0.5.23", "context.draft-overridden"),
    ],
)
def test_the_variable_lets_it_through(tmp_path: Path, release: str, topic: str) -> None:
    resolved = predict(tmp_path, release, draft=draft_of(4096), **{OVERRIDE: "1"})
    assert shorter(resolved) == []
    assert [event.facts["wanted"] for event in of(resolved, topic)] == [131072]
    assert resolved.value("draft_context_length") == 131072


@pytest.mark.parametrize(
    ("word", "release", "passes"),
    [
        ("1", "0.5.2", True),
        ("TRUE", "0.5.2", True),
        ("yes", "0.5.2", False),
        ("yes", "0.5.9", True),
        ("Y", "0.5.9", True),
        ("on", "0.5.9", False),
        ("0", "0.4.9.post6", False),
        ("no", "0.4.9.post6", False),
        ("", "0.5.9", False),
    ],
)
def test_words_that_count_as_true(tmp_path: Path, word: str, release: str, passes: bool) -> None:
    resolved = predict(tmp_path, release, draft=draft_of(4096), **{OVERRIDE: word})
    stops = [e for e in resolved.events if e.outcome in (Outcome.CRASHES, Outcome.REFUSES)]
    assert (not [e for e in stops if e.stage is not Stage.SERVING]) is passes


def test_continuous_integration_has_the_same_effect(tmp_path: Path) -> None:
    environment = {"SGLANG_IS_IN_CI": "true", OVERRIDE: "0"}
    assert shorter(predict(tmp_path, "0.5.9", draft=draft_of(4096), **environment)) == []


class TestContextLengthFlag:
    """`--context-length` reaches the target's runner, which reads the draft's config first."""

    @pytest.mark.parametrize(("given", "stops"), [(4096, False), (4097, True)])
    def test_above_the_drafts_length(self, tmp_path: Path, given: int, stops: bool) -> None:
        resolved = predict(tmp_path, "0.5.9", "--context-length", str(given), draft=draft_of(4096))
        assert [event.facts["given"] for event in shorter(resolved)] == [True] * stops
        assert resolved.value("context_length") == given

    def test_comes_before_the_weights_from_0_5_8_on(self, tmp_path: Path) -> None:
        flags = ("--context-length", "8192")
        before = shorter(predict(tmp_path / "a", "0.5.7", *flags, draft=draft_of(4096)))
        after = shorter(predict(tmp_path / "b", "0.5.8", *flags, draft=draft_of(4096)))
        assert before[0].outcome is Outcome.CRASHES
        assert before[0].facts["loaded"].startswith("the target's weights")
        assert after[0].outcome is Outcome.REFUSES
        assert after[0].facts["loaded"] == ""

    def test_above_the_targets_own_length(self, tmp_path: Path) -> None:
        resolved = predict(tmp_path, "0.5.9", "--context-length", "131073")
        (event,) = of(resolved, "context.target-exceeded")
        assert event.stage is Stage.TARGET_CONFIG
        assert event.outcome is Outcome.REFUSES


@pytest.mark.parametrize(
    ("release", "loaded"),
    [
        ("0.5.13.post1", "the target's weights, KV cache and CUDA graphs"),
        ("0.5.14", "the target's weights"),
    ],
)
def test_says_what_was_loaded_by_then(tmp_path: Path, release: str, loaded: str) -> None:
    (event,) = shorter(predict(tmp_path, release, draft=draft_of(4096)))
    assert event.facts["loaded"] == loaded


def test_without_graphs_there_are_none_to_lose(tmp_path: Path) -> None:
    resolved = predict(tmp_path, "0.5.9", "--disable-cuda-graph", draft=draft_of(4096))
    assert shorter(resolved)[0].facts["loaded"] == "the target's weights and KV cache"


YARN = {"rope_type": "yarn", "factor": 4.0}


@pytest.mark.parametrize(
    ("release", "rope", "length"),
    [
        ("0.5.9", YARN, 131072),
        ("0.5.10", YARN, 32768),
        ("0.5.23", YARN, 32768),
        ("0.5.9", YARN | {"original_max_position_embeddings": 8192}, 32768),
        ("0.5.9", {"type": "linear", "factor": 2.5}, 81920),
        ("0.5.23", {"type": "linear", "factor": 2.5}, 81920),
        ("0.5.9", {"type": "dynamic", "factor": 2}, 65536),
    ],
)
def test_rope_scaling_counts_as_the_release_counts_it(
    tmp_path: Path, release: str, rope: dict[str, Any], length: int
) -> None:
    resolved = predict(tmp_path, release, draft=draft_of(32768, rope_scaling=rope))
    assert resolved.facts["draft_derived_length"] == length


@pytest.mark.parametrize(
    ("changes", "key", "length"),
    [
        ({"model_max_length": 1000}, "model_max_length", 1000),
        ({"model_max_length": None}, "max_position_embeddings", 32768),
        ({"max_seq_len": 0, "model_max_length": 9}, "max_seq_len", 0),
        ({"seq_length": 5, "max_seq_len": 6}, "seq_length", 5),
        ({"max_sequence_length": 7, "seq_length": 5}, "max_sequence_length", 7),
    ],
)
def test_the_first_key_that_is_not_null_wins(
    tmp_path: Path, changes: dict[str, Any], key: str, length: int
) -> None:
    resolved = predict(tmp_path, "0.5.9", draft=draft_of(32768, **changes))
    assert resolved.facts["draft_length_key"] == key
    assert resolved.facts["draft_derived_length"] == length
    assert resolved.facts["draft_length"].origin.pointer == f"/{key}"


@pytest.mark.parametrize(
    ("model_type", "length", "name"),
    [
        ("llama", 2048, "LlamaConfig.max_position_embeddings"),
        ("qwen3", 32768, "Qwen3Config.max_position_embeddings"),
    ],
)
def test_a_missing_length_is_the_class_default(
    tmp_path: Path, model_type: str, length: int, name: str
) -> None:
    resolved = predict(tmp_path, "0.5.9", draft=draft_of(..., model_type=model_type))
    assert resolved.facts["draft_derived_length"] == length
    assert resolved.facts["draft_length"].origin.name == name


def test_a_nested_target_gives_the_length_of_its_text_config(tmp_path: Path) -> None:
    resolved = predict(tmp_path, "0.5.9", target=NESTED, draft=draft_of(32768))
    assert resolved.value("context_length") == 65536
    assert shorter(resolved)[0].facts["wanted"] == 65536


def test_override_args_reach_the_draft_alone_where_the_target_is_nested(tmp_path: Path) -> None:
    override = ("--json-model-override-args", '{"max_position_embeddings": 65536}')
    resolved = predict(tmp_path, "0.5.9", *override, target=NESTED, draft=draft_of(32768))
    assert shorter(resolved) == []


@pytest.mark.parametrize("algorithm", ["EAGLE", "STANDALONE"])
@pytest.mark.parametrize(("release", "early"), [("0.5.13", False), ("0.5.14", True)])
def test_other_algorithms_are_read_early_from_0_5_14_on(
    tmp_path: Path, algorithm: str, release: str, early: bool
) -> None:
    flags = ("--speculative-algorithm", algorithm, "--context-length", "8192")
    draft = change(LLAMA, num_hidden_layers=2, max_position_embeddings=4096)
    (event,) = shorter(predict(tmp_path, release, *flags, draft=draft))
    assert event.facts["given"] is early
