"""SGLang's config of a speculators draft."""

from __future__ import annotations

import pytest
from make_checkpoints import eagle3_speculators

from specpreflight.errors import UsageError
from specpreflight.fixes.speculators import flatten_config, is_speculators


def test_only_speculators_own_key_tells() -> None:
    assert is_speculators({"speculators_model_type": "eagle3"})
    assert not is_speculators({"architectures": ["Eagle3Speculator"]})


def test_without_aux_layers_both_have_the_same_default() -> None:
    flat = flatten_config(eagle3_speculators().config, None)
    assert "eagle_config" not in flat
    assert flat["model_type"] == "llama"
    assert flat["draft_vocab_size"] == 192


def test_the_default_of_the_residual_is_true() -> None:
    config = eagle3_speculators().config
    del config["norm_before_residual"]
    with pytest.raises(UsageError, match="norm_before_residual"):
        flatten_config(config, None)


@pytest.mark.parametrize(
    ("target", "says"),
    [(None, "depend on the target"), ("DeepseekV3ForCausalLM", "in its own way")],
)
def test_numbers_that_depend_on_the_target(target: str | None, says: str) -> None:
    config = {**eagle3_speculators().config, "eagle_aux_hidden_state_layer_ids": [2, 14, 25]}
    with pytest.raises(UsageError, match=says):
        flatten_config(config, target)


def test_every_number_becomes_one_less() -> None:
    config = {**eagle3_speculators().config, "eagle_aux_hidden_state_layer_ids": [2, 14, 25]}
    flat = flatten_config(config, "LlamaForCausalLM")
    assert flat["eagle_config"]["eagle_aux_hidden_state_layer_ids"] == [1, 13, 24]
