"""What vLLM's EAGLE-3 class takes of a draft's tensors, as its source says it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner
from make_checkpoints import Draft, eagle3_specforge
from weight_launches import write_pair

from specpreflight.api import build_launch
from specpreflight.cli import main
from specpreflight.engines.registry import find_engine
from specpreflight.models.loader_report import LoaderReport
from specpreflight.models.weights import loader_of


def report_of(draft: Draft, directory: Path, release: str) -> LoaderReport:
    draft_path, target_path = write_pair(directory, draft)
    launch = build_launch(str(target_path), str(draft_path), engine=f"vllm@{release}")
    report = loader_of(find_engine("vllm").resolve(launch))
    assert report is not None
    return report


@pytest.mark.parametrize("release", ["0.10.2", "0.20.2", "0.33.0"])
def test_an_exported_head_is_taken_whole(tmp_path: Path, release: str):
    report = report_of(eagle3_specforge(), tmp_path, release)
    assert report.error is None
    assert report.dropped == ("t2d",)
    query = "midlayer.self_attn.q_proj.weight"
    assert report.taken[query] == ("model.layers.0.self_attn.qkv_proj.weight",)
    assert report.taken["d2t"] == ("draft_id_to_target_id",)
    assert report.lost == ()


@pytest.mark.parametrize(
    ("release", "exception", "text"),
    [
        ("0.24.0", "KeyError", "'layers.0.strange'"),
        ("0.25.0", "ValueError", "There is no module or parameter named 'layers.0.strange'"),
    ],
)
def test_an_unknown_name_stops_the_load(tmp_path: Path, release: str, exception: str, text: str):
    draft = eagle3_specforge()
    draft.shapes["layers.0.strange"] = (1,)
    error = report_of(draft, tmp_path, release).error
    assert error is not None
    assert (error.exception, error.tensor) == (exception, "layers.0.strange")
    assert error.message.startswith(text)


def test_a_missing_tensor_is_lost_without_a_word(tmp_path: Path):
    draft = eagle3_specforge()
    del draft.shapes["fc.weight"]
    report = report_of(draft, tmp_path, "0.33.0")
    assert report.error is None
    assert [each.parameter for each in report.lost] == ["model.fc.weight"]


@pytest.mark.parametrize(("release", "lost"), [("0.11.0", ["lm_head.weight"]), ("0.11.1", [])])
def test_a_missing_head_is_the_targets_in_later_releases(
    tmp_path: Path, release: str, lost: list[str]
):
    draft = eagle3_specforge()
    del draft.shapes["lm_head.weight"]
    assert [each.parameter for each in report_of(draft, tmp_path, release).lost] == lost


def test_keys_says_it_for_a_user(tmp_path: Path):
    draft, target = write_pair(tmp_path, eagle3_specforge())
    words = [
        "keys",
        str(draft),
        "--target",
        str(target),
        "--for",
        "vllm@0.33.0",
        "--format",
        "json",
    ]
    result = CliRunner().invoke(main, words)
    assert result.exit_code == 0, result.output
    data = json.loads(result.stdout)
    assert data["dropped"] == ["t2d"]
    assert data["source"] == "model_executor/models/llama_eagle3.py"
    assert any("shapes" in note for note in data["notes"])


def test_keys_names_a_class_that_is_not_restated(tmp_path: Path):
    draft = eagle3_specforge()
    draft.config["architectures"] = ["EagleLlamaForCausalLM"]
    paths = write_pair(tmp_path, draft)
    words = ["keys", str(paths[0]), "--target", str(paths[1]), "--for", "vllm@0.33.0"]
    result = CliRunner().invoke(main, words)
    assert result.exit_code == 2
    assert "vllm" in result.stderr
