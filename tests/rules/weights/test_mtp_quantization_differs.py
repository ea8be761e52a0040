from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from make_checkpoints import Draft
from weight_launches import judge, judge_twin, launch_with

from specpreflight.models.finding import Confidence, Outcome

RULE = "mtp-quantization-differs"


def glm(scaled: bool, scheme: dict[str, Any] | None) -> Draft:
    """A checkpoint of a class whose loader is not restated, with its MTP layer 2."""
    config: dict[str, Any] = {
        "architectures": ["Glm4MoeForCausalLM"],
        "model_type": "glm4_moe",
        "num_hidden_layers": 2,
        "num_nextn_predict_layers": 1,
    }
    if scheme is not None:
        config["quantization_config"] = scheme
    shapes: dict[str, tuple[int, ...]] = {
        "model.layers.0.mlp.up_proj.weight": (4, 8),
        "model.layers.0.mlp.up_proj.weight_scale": (1,),
        "model.layers.2.eh_proj.weight": (8, 16),
    }
    if scaled:
        shapes["model.layers.2.eh_proj.weight_scale"] = (1,)
    return Draft(config, shapes)


def findings(directory: Path, draft: Draft, **flags: str):
    path = draft.write(directory / "target")
    return judge(RULE, *launch_with(path, path, "NEXTN", **flags))


def test_a_restated_head_keeps_unset_scales(tmp_path: Path) -> None:
    [finding] = judge_twin(RULE, tmp_path)
    assert (finding.outcome, finding.confidence) == (Outcome.ACCEPTS_NOTHING, Confidence.PROVEN)


MODELOPT = {"quant_method": "modelopt_fp4"}
LEAVES_OUT = {**MODELOPT, "ignore": ["model.layers.2*"]}


@pytest.mark.parametrize(
    ("scaled", "scheme", "flags", "count"),
    [
        (False, MODELOPT, {}, 1),
        (True, MODELOPT, {}, 0),
        (False, LEAVES_OUT, {}, 0),
        (True, LEAVES_OUT, {}, 1),
        (False, LEAVES_OUT, {"quantization": "modelopt_fp4"}, 1),
        (False, None, {}, 0),
        (False, MODELOPT, {"speculative-draft-model-quantization": "unquant"}, 0),
    ],
)
def test_scales_scheme_and_ignore_list(
    tmp_path: Path, scaled: bool, scheme: dict[str, Any] | None, flags: dict[str, str], count: int
) -> None:
    found = findings(tmp_path, glm(scaled, scheme), **flags)
    assert [finding.outcome for finding in found] == [Outcome.CRASHES] * count
