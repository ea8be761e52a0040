"""The confidence head of DSPARK drafts, by verify mode and by what the checkpoint holds."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from launches import LLAMA, change, found, make_launch, write_checkpoint

from specpreflight.api import check
from specpreflight.models.finding import Finding, Stage

DRAFT = change(
    LLAMA,
    architectures=["DSparkDraftModel"],
    num_hidden_layers=5,
    block_size=7,
    markov_rank=32,
    markov_head_type="vanilla",
    target_layer_ids=[1, 9, 17, 25, 29],
    mask_token_id=128002,
)
HEAD = ("confidence_head.proj.bias", "confidence_head.proj.weight")


def findings(
    folder: Path,
    mode: str | None,
    names: tuple[str, ...] = (),
    *,
    version: str = "0.5.17",
    draft: dict[str, Any] = DRAFT,
) -> list[Finding]:
    write_checkpoint(folder / "draft", draft)
    weights = dict.fromkeys(("fc.weight", *names), "model-1.safetensors")
    index = folder / "draft" / "model.safetensors.index.json"
    index.write_text(json.dumps({"weight_map": weights}))
    launch = make_launch(
        folder,
        LLAMA,
        draft,
        *("--speculative-algorithm", "DSPARK"),
        engine=f"sglang@{version}",
        environment={} if mode is None else {"SGLANG_RAGGED_VERIFY_MODE": mode},
    )
    return found(check(launch), "confidence-head-missing")


@pytest.mark.parametrize("version", ["0.5.17", "0.5.23"])
@pytest.mark.parametrize(
    ("mode", "count"), [(None, 0), ("static", 0), ("cap-accept", 1), ("compact", 1)]
)
def test_only_the_ragged_modes_build_it(
    tmp_path: Path, version: str, mode: str | None, count: int
) -> None:
    got = findings(tmp_path, mode, version=version)
    assert [finding.stage for finding in got] == [Stage.WEIGHTS] * count
    for finding in got:
        assert finding.values[0].origin.name == "SGLANG_RAGGED_VERIFY_MODE"
        assert f"is missing {list(HEAD)}" in str(finding.engine_message)


@pytest.mark.parametrize(
    ("names", "said"), [(HEAD, None), (HEAD[:1], HEAD[1]), (HEAD[1:], HEAD[0])]
)
def test_both_of_its_tensors_are_needed(
    tmp_path: Path, names: tuple[str, ...], said: str | None
) -> None:
    got = findings(tmp_path, "compact", names)
    assert [f"has no `{said}`" in finding.message for finding in got] == [True] * bool(said)


def test_turning_it_off_in_the_config_does_not_help(tmp_path: Path) -> None:
    draft = change(DRAFT, enable_confidence_head=False)
    assert len(findings(tmp_path, "compact", draft=draft)) == 1


@pytest.mark.parametrize(("rank", "count"), [(32, 0), (..., 1)])
def test_markov_features_need_a_rank_at_the_top_level(
    tmp_path: Path, rank: Any, count: int
) -> None:
    nested = {"markov_rank": 32, "markov_head_type": "vanilla"}
    draft = change(DRAFT, markov_rank=rank, dspark_config=nested, confidence_head_with_markov=True)
    assert len(findings(tmp_path, "compact", HEAD, draft=draft)) == count


def test_the_first_release_knows_one_class(tmp_path: Path) -> None:
    draft = change(DRAFT, architectures=["Qwen3DSparkModel"])
    assert len(findings(tmp_path, "compact", version="0.5.16", draft=draft)) == 1
