"""What shapes say against a config's numbers."""

from __future__ import annotations

from typing import Any

import pytest
from make_checkpoints import Draft, dflash, eagle3_mla, eagle3_specforge, eagle_llama

from specpreflight.models.tensor_facts import find_contradictions
from specpreflight.models.weights import Tensor


def contradictions(draft: Draft) -> dict[str, tuple[Any, int]]:
    tensors = {
        name: Tensor(name, "BF16", shape, "model.safetensors", 0, 0)
        for name, shape in draft.shapes.items()
    }
    found = find_contradictions(draft.config, tensors)
    return {each.key: (each.stated, each.found) for each in found}


@pytest.mark.parametrize("make", [eagle_llama, eagle3_specforge, eagle3_mla, dflash])
def test_sound_drafts_contradict_nothing(make) -> None:
    assert contradictions(make()) == {}


@pytest.mark.parametrize(
    ("key", "stated", "found"),
    [
        ("hidden_size", 256, 128),
        ("intermediate_size", 384, 320),
        ("head_dim", 32, 64),
        ("num_key_value_heads", 2, 1),
        ("draft_vocab_size", 200, 192),
    ],
)
def test_one_wrong_number_is_named_alone(key: str, stated: int, found: int) -> None:
    draft = eagle3_specforge()
    draft.config[key] = stated
    assert contradictions(draft) == {key: (stated, found)}


@pytest.mark.parametrize(("layers", "count"), [(1, 1), (2, 0), (3, 1)])
def test_number_of_layers(layers: int, count: int) -> None:
    draft = dflash()
    draft.config["num_hidden_layers"] = layers
    assert len(contradictions(draft)) == count


def test_absent_null_and_strange_values_are_no_contradiction() -> None:
    draft = eagle3_specforge()
    del draft.config["hidden_size"]
    draft.config.update(intermediate_size=None, num_key_value_heads="2", vocab_size=True)
    assert contradictions(draft) == {}
