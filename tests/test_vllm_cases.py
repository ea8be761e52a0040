"""Public vLLM reports: the statically detectable ones get the outcome that was reported.

A report names a branch or a month more often than a release, so the release of each is stated
here: the newest one before the report, or the one that has the fault. Configs are completed as in
`test_cases`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from launches import LLAMA, LLAMA_EAGLE3, change
from test_cases import CASES, OUTCOMES, complete, corpus_config, read_case
from vllm_launches import report

QWEN3 = change(LLAMA, architectures=["Qwen3ForCausalLM"], model_type="qwen3")
QWEN2 = change(LLAMA, architectures=["Qwen2ForCausalLM"], model_type="qwen2")
KIMI = change(
    LLAMA,
    architectures=["DeepseekV3ForCausalLM"],
    model_type="deepseek_v3",
    kv_lora_rank=512,
    qk_rope_head_dim=64,
    qk_nope_head_dim=128,
    v_head_dim=128,
    q_lora_rank=1536,
)
MTP = change(KIMI, num_nextn_predict_layers=1)
V4 = change(LLAMA, architectures=["Qwen3ForCausalLM"], model_type="qwen3", num_attention_heads=64)
DFLASH = change(
    QWEN3,
    architectures=["DFlashDraftModel"],
    num_hidden_layers=5,
    block_size=16,
    dflash_config={"mask_token_id": 1, "target_layer_ids": [1, 9, 17, 25]},
)
YARN = {
    "max_position_embeddings": 524288,
    "rope_parameters": {
        "rope_type": "yarn",
        "rope_theta": 500000.0,
        "factor": 4.0,
        "original_max_position_embeddings": 131072,
    },
}


@dataclass(frozen=True)
class Facts:
    """What a report leaves out: the release, the method, the model's family, other words."""

    version: str
    target: Mapping[str, Any] = field(default_factory=lambda: LLAMA)
    draft: Mapping[str, Any] | None = field(default_factory=lambda: LLAMA_EAGLE3)
    keys: dict[str, Any] = field(default_factory=dict)
    words: tuple[str, ...] = ()
    architectures: list[str] | None = None
    outcomes: frozenset[str] | None = None


FACTS = {
    5: Facts("0.24.0"),
    6: Facts("0.10.2"),
    7: Facts("0.20.2", draft=change(LLAMA, max_position_embeddings=65536)),
    36: Facts("0.10.0"),
    37: Facts("0.10.0", QWEN3, change(QWEN3, num_hidden_layers=1)),
    38: Facts("0.16.0", change(LLAMA, architectures=["MiniMaxM2ForCausalLM"])),
    41: Facts("0.15.0", change(LLAMA, architectures=["Qwen3NextForCausalLM"])),
    42: Facts("0.10.0", QWEN2, change(QWEN2, num_hidden_layers=1)),
    44: Facts("0.10.0", QWEN3),
    50: Facts("0.33.0", V4),
    53: Facts("0.24.0", QWEN3, DFLASH, architectures=["DFlashDraftModel"]),
    104: Facts("0.24.0", draft={**LLAMA_EAGLE3, "max_position_embeddings": 2048}),
    111: Facts("0.10.0", draft=LLAMA, outcomes=frozenset({"crashes"})),
    112: Facts(
        "0.29.0",
        QWEN3,
        DFLASH,
        words=("--hf-overrides", '{"max_position_embeddings": 393216}'),
    ),
    113: Facts("0.33.0", MTP, None, words=("--hf-overrides", json.dumps(YARN))),
    114: Facts("0.24.0", QWEN3, DFLASH, {"num_speculative_tokens": 15}),
    116: Facts("0.10.0", draft=change(LLAMA_EAGLE3, num_key_value_heads=32)),
    15: Facts("0.19.0", KIMI),
    27: Facts("0.33.0", QWEN3, DFLASH, {"method": "dflash", "num_speculative_tokens": 7}),
    32: Facts("0.22.0", QWEN2, QWEN2, {"num_speculative_tokens": 3}),
    77: Facts("0.22.0"),
    8: Facts("0.31.0", LLAMA, LLAMA, {"method": "draft_model"}),
    30: Facts("0.24.0", QWEN2, QWEN2, {"method": "draft_model"}),
    31: Facts("0.24.0", LLAMA, change(LLAMA, vocab_size=32000), {"method": "draft_model"}),
    34: Facts("0.10.0"),
    49: Facts("0.33.0", QWEN2, QWEN2, {"method": "draft_model"}, ("--tensor-parallel-size", "8")),
}

#: Flags of the first engine → the key of the speculative config that took their place, if any.
OLD_FLAGS = {
    "--speculative-model": None,
    "--num-speculative-tokens": "num_speculative_tokens",
    "--speculative-draft-tensor-parallel-size": "draft_tensor_parallel_size",
}

#: Cases that this project does not reach, with the reason.
NOT_REACHED = {
    19: "many good drafts name no layers; what is taken is listed as `aux_layers`",
    51: "a fault of the first engine's EAGLE class, whose place the draft's own head has taken",
    80: "a fault of the first engine's EAGLE class, which later ones do not have",
    100: "no launch of a draft; the NCCL rules know it",
}


def number(path: Path) -> int:
    return int(path.name.partition("-")[0])


def detectable() -> list[Any]:
    found = []
    for path in CASES:
        case = read_case(path)
        if case["engine"] == "vllm" and case["static_detectable"] == "yes":
            found.append(pytest.param(case, id=path.stem))
    return found


def words_of(case: dict[str, Any]) -> tuple[list[str], dict[str, Any]]:
    """Return the flags of a launch without its checkpoints, and the speculative config's keys."""
    words = list(map(str, case["launch"]))
    keys: dict[str, Any] = {}
    kept: list[str] = []
    while words:
        word = words.pop(0)
        if word in ("--speculative-config", "--speculative_config"):
            text = re.sub(r",\s*\.\.\.", "", words.pop(0))
            keys = {key: value for key, value in json.loads(text).items() if key != "model"}
        elif word in ("--model", "--hf-overrides"):
            words.pop(0)
        elif word in OLD_FLAGS:
            value, key = words.pop(0), OLD_FLAGS[word]
            keys |= {} if key is None else {key: int(value)}
        elif word == "--use-v2-block-manager":
            continue
        elif word.startswith("-"):
            kept.append(word)
            if words and not words[0].startswith("-"):
                kept.append(words.pop(0))
    return kept, keys


@pytest.mark.shared
@pytest.mark.parametrize("case", detectable())
def test_outcome_is_the_reported_one(tmp_path: Path, case: dict[str, Any]) -> None:
    at = int(str(case["id"]).partition("-")[0])
    if at in NOT_REACHED:
        pytest.skip(NOT_REACHED[at])
    facts = FACTS[at]
    words, keys = words_of(case)
    target = complete(case["target_config"], facts.target)
    draft = None if facts.draft is None else complete(case["draft_config"], facts.draft)
    if corpus := corpus_config((case["target_config"] or {}).get("model")):
        target = complete(case["target_config"], corpus)
    if draft is not None:
        text = target.get("text_config", target)
        same = {key: text[key] for key in ("hidden_size",) if key in text}
        stated = case["draft_config"] or {}
        if facts.architectures is not None:
            draft["architectures"] = facts.architectures
        draft = {**draft, **{key: value for key, value in same.items() if key not in stated}}
    defaults = {"method": "eagle3", "num_speculative_tokens": 3}
    speculative = {**defaults, **facts.keys, **keys}
    if draft is None:
        speculative["model"] = ...
    got = report(
        tmp_path,
        facts.version,
        *words,
        *facts.words,
        speculative=speculative,
        target=target,
        draft=draft,
    )
    assert got.internal_errors == ()
    outcome = got.verdict.outcome
    expected = facts.outcomes or OUTCOMES[case["outcome"]]
    assert getattr(outcome, "value", outcome) in expected, [
        (one.rule, one.outcome.value, one.message) for one in got.findings
    ]
