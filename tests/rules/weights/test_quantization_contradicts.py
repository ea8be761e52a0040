from __future__ import annotations

from pathlib import Path

import pytest
from make_checkpoints import Draft, eagle3_specforge
from weight_launches import judge_draft, judge_twin

from specpreflight.models.finding import Outcome

RULE = "quantization-contradicts"


def quantised(scale: str | None, **config: object) -> Draft:
    draft = eagle3_specforge()
    draft.config["quantization_config"] = {"quant_method": "fp8", **config}
    for name in [name for name in draft.shapes if "_proj" in name]:
        draft.dtypes[name] = "float8_e4m3fn"
        if scale is not None:
            draft.shapes[name.removesuffix("weight") + scale] = (1,)
            draft.dtypes[name.removesuffix("weight") + scale] = "float32"
    return draft


def test_fp8_without_a_config(tmp_path: Path) -> None:
    [finding] = judge_twin(RULE, tmp_path)
    assert finding.outcome is Outcome.ACCEPTS_NOTHING
    assert "7 tensors are F8_E4M3" in finding.message


@pytest.mark.parametrize(
    ("scale", "count"), [("weight_scale", 0), ("weight_scale_inv", 1), (None, 1)]
)
def test_scales_under_the_names_that_are_read(
    tmp_path: Path, scale: str | None, count: int
) -> None:
    assert len(judge_draft(RULE, tmp_path, quantised(scale))) == count


def test_a_packed_scheme_over_plain_weights(tmp_path: Path) -> None:
    draft = eagle3_specforge()
    draft.config["quantization_config"] = {"quant_method": "awq", "bits": 4, "group_size": 64}
    [finding] = judge_draft(RULE, tmp_path, draft)
    assert "qweight" in finding.message
    assert any(value.label == "tensor" for value in finding.values)


def test_modelopt_keeps_its_config_in_another_file(tmp_path: Path) -> None:
    draft = quantised("weight_scale")
    del draft.config["quantization_config"]
    draft.files["hf_quant_config.json"] = "{}"
    assert judge_draft(RULE, tmp_path, draft) == []
