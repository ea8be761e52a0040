from __future__ import annotations

from pathlib import Path

import pytest
from make_checkpoints import Draft, qwen3_next_mtp
from weight_launches import judge, judge_twin, launch_with

from specpreflight.models.finding import Confidence, Outcome

RULE = "mtp-layer-missing"


def glm(listed: bool) -> Draft:
    """A GLM-4 checkpoint whose MTP layer 2 stands in a file of its own."""
    config = {
        "architectures": ["Glm4MoeForCausalLM"],
        "model_type": "glm4_moe",
        "num_hidden_layers": 2,
        "num_nextn_predict_layers": 1,
    }
    layer, last = "model.layers.0.mlp.gate.weight", "model.layers.2.eh_proj.weight"
    draft = Draft(config, {layer: (4, 8), last: (8, 16)}, shards={last: "mtp.safetensors"})
    places = {layer: "model.safetensors"} | ({last: "mtp.safetensors"} if listed else {})
    draft.index = {"weight_map": places}
    return draft


def findings(directory: Path, draft: Draft, release: str, algorithm: str = "NEXTN"):
    path = draft.write(directory / "target")
    return judge(RULE, *launch_with(path, path, algorithm, release))


def test_a_restated_head_stays_without_weights(tmp_path: Path) -> None:
    [finding] = judge_twin(RULE, tmp_path)
    assert (finding.outcome, finding.confidence) == (Outcome.ACCEPTS_NOTHING, Confidence.PROVEN)


@pytest.mark.parametrize(
    ("listed", "release", "count"),
    [(False, "0.5.7", 1), (False, "0.5.8", 0), (True, "0.5.7", 0)],
)
def test_a_file_that_the_index_forgot(
    tmp_path: Path, listed: bool, release: str, count: int
) -> None:
    found = findings(tmp_path, glm(listed), release)
    assert len(found) == count
    assert all("mtp.safetensors" in finding.message for finding in found)


def test_quiet_with_the_layer_or_without_speculation(tmp_path: Path) -> None:
    assert findings(tmp_path / "a", qwen3_next_mtp(), "0.5.13") == []
    bare = qwen3_next_mtp()
    bare.shapes = {"lm_head.weight": (4, 4)}
    assert findings(tmp_path / "b", bare, "0.5.13", "NGRAM") == []
