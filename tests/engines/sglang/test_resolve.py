"""The walk through one release: order of events, unknown machines, and a user's own tree."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from engine_trees import write_configuration
from launches import EAGLE3_FLAGS, LLAMA, LLAMA_EAGLE3, change, make_launch

from specpreflight.api import check
from specpreflight.engines.sglang import ENGINE
from specpreflight.engines.sglang.knowledge import knowledge_of
from specpreflight.engines.sglang.resolve import resolve
from specpreflight.models.finding import STOPPING, Outcome, Stage
from specpreflight.models.launch import Launch
from specpreflight.models.resolved import Resolved

SHORT = change(LLAMA_EAGLE3, max_position_embeddings=2048)


def predict(folder: Path, release: str, *flags: str, **models: Any) -> Resolved:
    return ENGINE.resolve(launch(folder, release, *flags, **models))


def launch(
    folder: Path,
    release: str,
    *flags: str,
    target: dict[str, Any] = LLAMA,
    draft: dict[str, Any] = LLAMA_EAGLE3,
) -> Launch:
    return make_launch(folder, target, draft, *EAGLE3_FLAGS, *flags, engine=f"sglang@{release}")


def stops(resolved: Resolved) -> list[str]:
    return [event.topic for event in resolved.events if event.outcome in STOPPING]


class TestOrder:
    """What stops first comes first; what would stop next is still told."""

    def test_a_launch_that_starts(self, tmp_path: Path) -> None:
        resolved = predict(tmp_path, "0.5.11")
        assert stops(resolved) == []
        values = {name: each.value for name, each in resolved.values.items()}
        assert values["algorithm"] == "EAGLE3"
        assert (values["num_steps"], values["topk"], values["num_draft_tokens"]) == (3, 1, 4)
        assert (values["context_length"], values["draft_context_length"]) == (131072, 131072)
        assert values["draft_architecture"] == "LlamaForCausalLMEagle3"
        assert (values["target_dtype"], values["draft_dtype"]) == ("bfloat16", "bfloat16")
        assert values["draft_path"] == str(tmp_path / "draft")

    def test_the_target_comes_before_the_draft(self, tmp_path: Path) -> None:
        target = change(LLAMA, model_type="unheard_of")
        draft = change(LLAMA_EAGLE3, model_type="never_seen")
        resolved = predict(tmp_path, "0.5.11", target=target, draft=draft)
        messages = [event.engine_message or "" for event in resolved.events]
        (first,) = (i for i, text in enumerate(messages) if "`unheard_of`" in text)
        (second,) = (i for i, text in enumerate(messages) if "`never_seen`" in text)
        assert first < second

    def test_arguments_come_before_both(self, tmp_path: Path) -> None:
        resolved = predict(tmp_path, "0.5.11", "--page-size", "many", draft=SHORT)
        assert stops(resolved) == ["arguments.parse", "context.draft-shorter"]

    @pytest.mark.parametrize(("release", "graphs"), [("0.5.13", True), ("0.5.14", False)])
    def test_the_draft_is_read_after_the_graphs_up_to_0_5_13(
        self, tmp_path: Path, release: str, graphs: bool
    ) -> None:
        (event,) = (
            event
            for event in predict(tmp_path, release, draft=SHORT).events
            if event.topic == "context.draft-shorter"
        )
        assert event.stage is Stage.DRAFT_CONFIG
        assert "weights" in event.facts["loaded"]
        assert ("graphs" in event.facts["loaded"]) is graphs

    def test_no_graphs_are_told_where_they_are_off(self, tmp_path: Path) -> None:
        resolved = predict(tmp_path, "0.5.9", "--disable-cuda-graph", draft=SHORT)
        (event,) = (e for e in resolved.events if e.topic == "context.draft-shorter")
        assert "graphs" not in event.facts["loaded"]


class TestWithoutTheWholeLaunch:
    def test_without_a_draft_path_the_target_is_its_own_draft(self, tmp_path: Path) -> None:
        alone = replace(launch(tmp_path, "0.5.11"), draft=None, draft_path=None)
        words = [word for word in alone.argv if "draft-model-path" not in word]
        words.remove(str(tmp_path / "draft"))
        resolved = ENGINE.resolve(replace(alone, argv=tuple(words)))
        assert "draft.is-target" in {event.topic for event in resolved.events}

    def test_without_a_target_the_arguments_are_still_read(self, tmp_path: Path) -> None:
        resolved = ENGINE.resolve(replace(launch(tmp_path, "0.5.11"), target=None))
        assert resolved.values["num_steps"].value == 3
        assert "context_length" not in resolved.values

    def test_an_unknown_machine_leaves_the_backend_open(self, tmp_path: Path) -> None:
        resolved = predict(tmp_path, "0.5.11")
        assert "attention_backend" not in resolved.values
        reasons = dict(resolved.unknown)
        assert reasons["attention_backend"].startswith("depends on the machine: ")
        assert all(event.outcome is not Outcome.CRASHES for event in resolved.events)


class TestTree:
    """`--engine PATH`: what the user's own source says counts, not what the release said."""

    RULE = "sglang/srt/configs/model_config.py"

    def of_tree(self, folder: Path) -> Resolved:
        wanted = launch(folder, "0.5.11", draft=SHORT)
        engine = replace(wanted.engine, path=str(folder / "tree" / "sglang"))
        return resolve(replace(wanted, engine=engine), knowledge_of(wanted.engine))

    def test_an_unchanged_tree_says_what_the_release_says(self, tmp_path: Path) -> None:
        write_configuration(tmp_path / "tree", "0.5.11")
        assert stops(self.of_tree(tmp_path)) == ["context.draft-shorter"]

    def test_a_patched_rule_changes_the_verdict(self, tmp_path: Path) -> None:
        write_configuration(tmp_path / "tree", "0.5.11")
        rule = tmp_path / "tree" / self.RULE
        text, changed = re.subn(
            r"if context_length > derived_context_len:",
            "if context_length > derived_context_len and not is_draft_model:",
            rule.read_text(),
        )
        assert changed == 1
        rule.write_text(text)
        resolved = self.of_tree(tmp_path)
        assert stops(resolved) == []
        assert resolved.values["draft_context_length"].value == 131072


def test_methods_of_transformers_that_are_not_at_hand_stop_nothing(tmp_path: Path) -> None:
    whisper = {
        "architectures": ["WhisperForConditionalGeneration"],
        "model_type": "whisper",
        "d_model": 512,
        "vocab_size": 51865,
    }
    alone = make_launch(tmp_path, whisper, LLAMA_EAGLE3, engine="sglang@0.5.23")
    resolved = ENGINE.resolve(replace(alone, draft=None, draft_path=None, argv=()))
    assert not [event for event in resolved.events if "to_dict" in (event.engine_message or "")]


class TestUnknown:
    """What the machine decides is told as unknown, with what each kind of machine would do."""

    def test_a_setting_says_why_it_is_unknown(self, tmp_path: Path) -> None:
        report = check(launch(tmp_path, "0.5.11"))
        backend = report.resolved["attention_backend"]
        assert backend.value is None
        assert backend.reason.startswith("unknown: depends on the machine: ")

    def test_settings_come_in_one_order(self, tmp_path: Path) -> None:
        unknown = predict(tmp_path, "0.5.23").unknown
        machine = [name for name, why in unknown if why.startswith("depends on the machine")]
        assert machine == ["attention_backend", "page_size"]

    def test_a_rule_that_needs_the_machine_is_skipped_with_what_it_would_say(
        self, tmp_path: Path
    ) -> None:
        words = ("--attention-backend", "trtllm_mha")
        skipped = {one.rule: one for one in check(launch(tmp_path, "0.5.9", *words)).skipped}
        left_out = skipped["attention-backend-unfit"]
        assert left_out.needs == "hardware"
        assert "trtllm_mha needs SM100" in left_out.reason
