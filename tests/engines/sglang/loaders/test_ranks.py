"""Sizes that tensor-parallel ranks share: what stops the construction, and what is left open.

The recorder ran with one rank. These are the asserts of the constructors: `models/llama.py`,
`layers/linear.py`, `distributed/utils.py:divide`, `layers/quantization/fp8.py` (0.4.6.post5 to
0.5.23 alike, but for the padding of vocabularies).
"""

from __future__ import annotations

from typing import Any

import pytest

from specpreflight.documents import Document
from specpreflight.engines.sglang.knowledge import load
from specpreflight.engines.sglang.loaders import load_report
from specpreflight.models.checkpoint import Checkpoint
from specpreflight.models.loader_report import LoaderReport
from specpreflight.models.weights import WeightTable

DRAFT: dict[str, Any] = {
    "architectures": ["LlamaForCausalLMEagle3"],
    "model_type": "llama",
    "hidden_size": 1024,
    "intermediate_size": 3072,
    "num_hidden_layers": 1,
    "num_attention_heads": 16,
    "num_key_value_heads": 4,
    "head_dim": 64,
    "vocab_size": 32000,
    "draft_vocab_size": 16000,
    "tie_word_embeddings": False,
}
BLOCKS = {"quant_method": "fp8", "activation_scheme": "dynamic", "weight_block_size": [128, 128]}


def build(ranks: int, release: str = "0.5.13", flags: Any = None, **config: Any) -> LoaderReport:
    draft = Checkpoint("draft", "d", None, Document("config.json", b"", {**DRAFT, **config}))
    target = Checkpoint("target", "t", None, draft.config)
    return load_report(
        draft,
        target,
        "EAGLE3",
        load(release),
        WeightTable("safetensors", {}),
        {"tp-size": str(ranks), **(flags or {})},
    )


@pytest.mark.parametrize(
    ("ranks", "config", "why"),
    [
        (1, {}, None),
        (8, {}, None),
        (16, {}, None),
        (32, {}, "32 ranks cannot share 16 heads."),
        (2, {"num_attention_heads": 12, "num_key_value_heads": 3}, "2 ranks cannot share 3"),
        (4, {"num_attention_heads": 12, "num_key_value_heads": 3}, "4 ranks cannot share 3"),
        (3, {"num_attention_heads": 12, "num_key_value_heads": 3}, None),
        (6, {"num_attention_heads": 12, "num_key_value_heads": 3}, None),
    ],
)
def test_heads(ranks: int, config: dict[str, Any], why: str | None) -> None:
    error = build(ranks, **config).error
    if why is None:
        assert error is None or "heads" not in error.why
    else:
        assert error is not None
        assert error.exception == "AssertionError"
        assert why in error.why


@pytest.mark.parametrize(("size", "stops"), [(3072, False), (3073, True), (3076, True)])
def test_the_intermediate_size(size: int, stops: bool) -> None:
    error = build(8, intermediate_size=size).error
    assert (error is not None) == stops
    if error is not None:
        assert error.message == f"{size} is not divisible by 8"


@pytest.mark.parametrize(("release", "stops"), [("0.5.21", True), ("0.5.22", False)])
def test_a_vocabulary_is_padded_for_the_ranks_from_0_5_22(release: str, stops: bool) -> None:
    config = {"num_attention_heads": 15, "num_key_value_heads": 5, "vocab_size": 32064}
    error = build(5, release, **config, intermediate_size=3200, draft_vocab_size=32064).error
    assert (error is not None) == stops
    if error is not None:
        assert error.message == "32064 is not divisible by 5"


@pytest.mark.parametrize(
    ("ranks", "config", "message"),
    [
        (1, {}, None),
        (8, {}, None),
        (16, {}, "output_partition_size = 192 is"),
        (8, {"intermediate_size": 2560}, "output_partition_size = 320 is"),
        (1, {"intermediate_size": 3000}, "output_partition_size = 3000 is"),
        (8, {"num_attention_heads": 8, "num_key_value_heads": 8}, "output_partition_size = 64"),
    ],
)
def test_blocks_of_fp8_scales(ranks: int, config: dict[str, Any], message: str | None) -> None:
    wide = {"head_dim": 128, **config} if "num_attention_heads" not in config else config
    error = build(ranks, quantization_config=BLOCKS, **wide).error
    assert (error is None) == (message is None)
    if error is not None and message is not None:
        assert message in error.message
        assert "block_n = 128." in error.message


def test_beside_other_groups_nothing_is_claimed() -> None:
    report = build(32, flags={"enable-dp-attention": True})
    assert report.error is None
    assert any("not judged" in note for note in report.notes)
