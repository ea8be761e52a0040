"""Which target a draft means, by its own words or by facts."""

from __future__ import annotations

from typing import Any

import pytest

from specpreflight.documents import Document
from specpreflight.models.checkpoint import Checkpoint
from specpreflight.models.pairing import (
    Pairing,
    Profile,
    Targets,
    Unpaired,
    describe,
    stated_in_card,
)


def profile(**config: Any) -> Profile:
    return describe(Checkpoint("draft", "d", None, Document("d/config.json", b"{}", config)))


HEAD = {"architectures": ["LlamaForCausalLMEagle3"], "hidden_size": 64, "vocab_size": 100}


@pytest.mark.parametrize(
    ("config", "kind"),
    [
        (HEAD, "draft"),
        ({"architectures": ["LlamaForCausalLM"], "num_hidden_layers": 32}, "target"),
        ({"architectures": ["LlamaForCausalLM"], "num_hidden_layers": 1}, "draft"),
        ({"model_type": "llama", "draft_vocab_size": 32000}, "draft"),
        ({"architectures": ["DFlashDraftModel"], "num_hidden_layers": 5}, "draft"),
        ({"speculators_model_type": "eagle3"}, "draft"),
    ],
)
def test_heads_are_told_from_models(config: dict[str, Any], kind: str) -> None:
    assert profile(**config).kind == kind


@pytest.mark.parametrize(
    "stated",
    [
        {"speculators_config": {"verifier": {"name_or_path": "org/T"}}},
        {"target_model_name_or_path": "org/T"},
        {"eagle_config": {"target_model_name_or_path": "org/T"}},
        {"base_model_name_or_path": "org/T"},
    ],
)
def test_what_a_config_states(stated: dict[str, Any]) -> None:
    [statement] = profile(**HEAD, **stated).statements
    assert statement.reference == "org/T"


@pytest.mark.parametrize("stated", [{"target_model_name_or_path": 3}, {"speculators_config": []}])
def test_what_is_no_name_states_nothing(stated: dict[str, Any]) -> None:
    assert profile(**HEAD, **stated).statements == ()


@pytest.mark.parametrize(
    ("card", "names"),
    [
        ("---\nbase_model: org/T\n---\n", ["org/T"]),
        ('---\nbase_model: "org/T"  # the target\n---\n', ["org/T"]),
        ("---\nbase_model: [org/T, 'org/U']\n---\n", ["org/T", "org/U"]),
        ("---\nbase_model:\n- org/T\n- org/U\ntags:\n- org/V\n---\n", ["org/T", "org/U"]),
        ("---\nlicense: mit\n---\nbase_model: org/T\n", []),
        ("# base_model: org/T\n", []),
        ("", []),
    ],
)
def test_model_cards(card: str, names: list[str]) -> None:
    assert [statement.reference for statement in stated_in_card(card)] == names


TARGET = Profile("target", 64, 100, 32, "llama")


@pytest.mark.parametrize(
    ("path", "reference"),
    [
        ("models/org/Name", "Org/name"),
        ("models/org--name", "org/Name"),
        ("models/org__name", "org/name"),
        ("models/name", "org/name"),
        ("hub/models--org--name/snapshots/abc", "org/name"),
    ],
)
def test_directories_that_an_id_means(path: str, reference: str) -> None:
    targets = Targets([reference])
    targets.add(path, TARGET)
    assert targets.named(reference) == path


def test_of_two_with_that_name_none_is_meant() -> None:
    targets = Targets(["org/name"])
    targets.add("a/name", TARGET)
    targets.add("b/name", TARGET)
    assert targets.named("org/name") is None
    targets.add("c/org/name", TARGET)
    assert targets.named("org/name") == "c/org/name"


def test_equal_facts() -> None:
    targets = Targets([])
    targets.add("t", TARGET)
    targets.add("copy-of-t", TARGET)
    targets.add("other", TARGET._replace(vocab_size=101))
    answer = targets.alike(profile(**HEAD))
    assert isinstance(answer, Pairing)
    assert (answer.target, answer.inferred) == ("t", True)
    targets.add("deeper", TARGET._replace(layers=40))
    assert isinstance(targets.alike(profile(**HEAD)), Unpaired)
    counted = targets.alike(profile(**HEAD, num_target_layers=40))
    assert isinstance(counted, Pairing)
    assert counted.target == "deeper"
