"""A config whose values have wrong types is predicted, or unknown; never is it our own error."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from launches import LLAMA, LLAMA_EAGLE3, write_checkpoint
from vllm_launches import report

from specpreflight.api import build_launch, check

#: Small, so that a day's worth of layers or a gigabyte of text is no part of the test.
SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.sampled_from([-1, 0, 1, 2, 64, 131_072, 2.5, 1e30, 10**30]),
    st.sampled_from(["", "x", "1", "yarn", "llama3", "auto", "bfloat16", "LlamaForCausalLM"]),
)
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.just("a"), inner, max_size=1),
    max_leaves=3,
)
LAYERS = ("eagle_aux_hidden_state_layer_ids", "target_layer_ids", "layer_ids")


def parts(*names: str) -> st.SearchStrategy[Any]:
    """Return objects with some of these keys, or something else in their place."""
    some = st.dictionaries(st.sampled_from(names), VALUES | st.lists(VALUES, max_size=3))
    return some | VALUES


CHANGES: dict[str, st.SearchStrategy[Any]] = {
    **dict.fromkeys((*LLAMA, *LAYERS, "draft_vocab_size", "layer_types", "auto_map"), VALUES),
    "rope_scaling": parts("rope_type", "type", "factor", "original_max_position_embeddings"),
    "rope_parameters": parts("rope_type", "rope_theta", "factor", "full_attention"),
    "eagle_config": parts(*LAYERS, "use_aux_hidden_state"),
    "dflash_config": parts(*LAYERS, "mask_token_id", "block_size"),
    "quantization_config": parts("quant_method", "bits", "modules_to_not_convert"),
    "speculators_config": parts("verifier", "algorithm", "proposal_methods"),
    "text_config": parts("model_type", "max_position_embeddings", "num_hidden_layers"),
}
SOME_CHANGES = st.lists(st.sampled_from(sorted(CHANGES)), max_size=3, unique=True).flatmap(
    lambda keys: st.fixed_dictionaries({key: CHANGES[key] for key in keys})
)


@pytest.mark.parametrize(
    "engine",
    [
        *("sglang@0.5.2", "sglang@0.5.11", "sglang@0.5.23"),
        *("vllm@0.11.0", "vllm@0.20.2", "vllm@0.33.0"),
    ],
)
@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(target=SOME_CHANGES, draft=SOME_CHANGES)
def test_any_value_of_any_key(
    tmp_path: Path, engine: str, target: dict[str, Any], draft: dict[str, Any]
) -> None:
    served = write_checkpoint(tmp_path / "target", {**LLAMA, **target})
    drafted = write_checkpoint(tmp_path / "draft", {**LLAMA_EAGLE3, **draft})
    checked = check(build_launch(str(served), str(drafted), engine=engine))
    assert checked.internal_errors == ()


@pytest.mark.parametrize(
    ("version", "factor", "message"),
    [
        ("0.20.2", "", "invalid literal for int() with base 10: ''"),
        ("0.20.2", "x", "invalid literal for int() with base 10: '" + 199 * "x"),
        ("0.20.2", "2.0", "invalid literal for int() with base 10: '2.02.0"),
        ("0.20.2", "2", "Exceeds the limit (4300 digits) for integer string conversion: value has "
                        "131072 digits"),
    ],
)  # fmt: skip
def test_a_factor_that_is_text(tmp_path: Path, version: str, factor: str, message: str) -> None:
    scaling = {"rope_type": "linear", "factor": factor}
    found = report(tmp_path, version, target={**LLAMA, "rope_scaling": scaling}).findings
    assert any(str(one.engine_message).startswith(message) for one in found)


@pytest.mark.parametrize(
    ("speculators", "message"),
    [
        ({}, "'verifier'"),
        ({"verifier": {}}, "'name_or_path'"),
        ({"verifier": None}, "'NoneType' object is not subscriptable"),
        ({"verifier": []}, "list indices must be integers or slices, not str"),
    ],
)
def test_a_verifier_that_is_none(tmp_path: Path, speculators: Any, message: str) -> None:
    target = {**LLAMA, "speculators_config": speculators}
    assert message in [
        one.engine_message for one in report(tmp_path, "0.10.2", target=target).findings
    ]


@pytest.mark.parametrize("kind", [{"a": 1}, ["llama3"], None])
def test_a_rope_type_that_is_no_text_is_scaled(tmp_path: Path, kind: Any) -> None:
    scaling = {"rope_type": kind, "factor": 2.0}
    got = report(tmp_path, "0.20.2", target={**LLAMA, "rope_scaling": scaling}, speculative=None)
    assert got.resolved["context_length"].value == 2 * LLAMA["max_position_embeddings"]
