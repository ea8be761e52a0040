"""Whatever a draft says and holds, the restated loaders answer; the engine's errors are data."""

from __future__ import annotations

import copy
import json
from functools import cache
from pathlib import Path
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from specpreflight.documents import Document
from specpreflight.engines.sglang.knowledge import load
from specpreflight.engines.sglang.loaders import load_report
from specpreflight.models.checkpoint import Checkpoint
from specpreflight.models.loader_report import LoaderReport
from specpreflight.models.weights import Tensor, WeightTable

GOLDEN = Path(__file__).parents[3] / "golden" / "weights" / "cases.json"
RELEASES = ("0.4.6.post5", "0.5.2", "0.5.9", "0.5.13", "0.5.18", "0.5.23")
SHAPES = st.lists(st.sampled_from([0, 1, 2, 32, 63, 64, 128, 192, 256, 384]), max_size=4)
VALUES = st.one_of(
    st.none(),
    st.booleans(),
    st.sampled_from([-1, 0, 1, 2, 3, 64, 100, 2**40, 1.5, "64", "", [], [1], {}, [[2]], ["a"]]),
)
KEYS = st.sampled_from(
    [
        *("bias", "attention_bias", "tie_word_embeddings", "hidden_act", "eagle_config"),
        *("dflash_config", "num_aux_hidden_states", "target_hidden_size", "draft_vocab_size"),
        *("architectures", "model_type", "quantization_config", "text_config", "norm_before_fc"),
        *("num_nextn_predict_layers", "topk_method", "num_target_layers", "block_size"),
    ]
)


@cache
def families() -> dict[str, Any]:
    return json.loads(GOLDEN.read_text())["families"]


@st.composite
def hostile(draw: st.DrawFn) -> tuple[dict[str, Any], dict[str, Any], dict[str, Tensor]]:
    family = draw(st.sampled_from(sorted(families())))
    made = copy.deepcopy(families()[family])
    config = made["config"]
    for key in draw(st.lists(st.sampled_from(sorted(config)) | KEYS, max_size=3)):
        config[key] = draw(VALUES)
    for key in draw(st.lists(st.sampled_from(sorted(config)), max_size=2)):
        config.pop(key, None)
    table = {}
    changed = draw(st.sets(st.sampled_from(sorted(made["tensors"])), max_size=3))
    for name, text in made["tensors"].items():
        dtype, _, shape = text.partition(" ")
        sizes = [int(size) for size in shape.split("x")] if shape else []
        new = draw(SHAPES) if name in changed else sizes
        table[name] = Tensor(name, dtype, tuple(new), "model.safetensors", 0, 0)
    return made, config, table


@given(hostile(), st.sampled_from(RELEASES), st.sampled_from(["1", "2", "3", "8"]))
@settings(max_examples=200, deadline=None)
def test_a_hostile_draft_gets_an_answer(
    made: tuple[dict[str, Any], dict[str, Any], dict[str, Tensor]], release: str, ranks: str
) -> None:
    family, config, table = made
    draft = Checkpoint("draft", "draft", None, Document("config.json", b"", config))
    target = None if family["own"] else Checkpoint("target", "target", None, draft.config)
    report = load_report(
        draft,
        target,
        family["algorithm"],
        load(release),
        WeightTable("safetensors", table),
        {"tp-size": ranks},
    )
    assert isinstance(report, LoaderReport)
    assert set(report.taken) | set(report.dropped) | set(report.not_read) <= set(table)
