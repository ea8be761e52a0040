"""`convert`: renamed copies on which the loader's answer is better, or nothing."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from make_checkpoints import Draft, eagle3_specforge, eagle3_speculators, llama_target

from specpreflight.cli import main
from specpreflight.sources.weight_index import read_weights


def run(draft: Path, out: Path, release: str) -> Result:
    target = llama_target().write(out.parent / "target")
    words = ["convert", draft, out, "--for", f"sglang@{release}", "--target", target]
    return CliRunner().invoke(main, [*map(str, words), "--algorithm", "EAGLE3"])


def respelled(old: str, new: str) -> Draft:
    draft = eagle3_specforge()
    draft.rename(lambda name: new + name.removeprefix(old) if name.startswith(old) else name)
    return draft


@pytest.mark.parametrize(
    ("make", "release"),
    [
        (lambda: respelled("", "_orig_mod."), "0.5.13"),
        (lambda: respelled("", "module."), "0.5.11"),
        (lambda: respelled("", "_orig_mod.module."), "0.5.23"),
        (lambda: respelled("midlayer.", "layers.0."), "0.5.11"),
        (lambda: respelled("", "model."), "0.5.13"),
    ],
)
def test_the_copy_is_taken_completely(tmp_path: Path, make, release: str) -> None:
    draft = make().write(tmp_path / "draft")
    result = run(draft, tmp_path / "out", release)
    assert (result.exit_code, result.stderr) == (0, "")
    assert "0 of its parameters stay without weights" in result.stdout
    assert "->" in result.stdout
    table = read_weights(tmp_path / "out")
    assert table.problems == ()
    assert len(table.tensors) == len(make().shapes)


def test_nothing_to_do(tmp_path: Path) -> None:
    draft = eagle3_specforge().write(tmp_path / "draft")
    result = run(draft, tmp_path / "out", "0.5.13")
    assert result.exit_code == 2
    assert "there is nothing to do" in result.stderr
    assert not (tmp_path / "out").exists()


def test_no_renaming_is_invented(tmp_path: Path) -> None:
    draft = eagle3_specforge()
    draft.rename(lambda name: name.replace("self_attn", "attention"))
    result = run(draft.write(tmp_path / "draft"), tmp_path / "out", "0.5.13")
    assert result.exit_code == 2
    assert "no renaming is known" in result.stderr
    assert "specpreflight keys" in result.stderr


def test_nothing_is_overwritten(tmp_path: Path) -> None:
    draft = respelled("", "_orig_mod.").write(tmp_path / "draft")
    (tmp_path / "out").mkdir()
    result = run(draft, tmp_path / "out", "0.5.13")
    assert result.exit_code == 2
    assert "exists, nothing is overwritten" in result.stderr


@pytest.mark.parametrize(("release", "renamed"), [("0.5.11", 10), ("0.5.13", 0)])
def test_a_speculators_draft_for_sglang(tmp_path: Path, release: str, renamed: int) -> None:
    made = eagle3_speculators()
    made.config["eagle_aux_hidden_state_layer_ids"] = [1, 2, 3]
    result = run(made.write(tmp_path / "draft"), tmp_path / "out", release)
    assert (result.exit_code, result.stderr) == (0, "")
    assert f"{renamed} tensors renamed" in result.stdout
    config = json.loads((tmp_path / "out" / "config.json").read_text())
    assert config["architectures"] == ["LlamaForCausalLMEagle3"]
    assert config["eagle_config"]["eagle_aux_hidden_state_layer_ids"] == [0, 1, 2]
    assert "transformer_layer_config" not in config


@pytest.mark.parametrize(
    ("key", "value", "says"),
    [
        ("norm_before_residual", True, "`norm_before_residual`"),
        ("norm_before_fc", True, "`norm_before_fc` is set"),
        ("speculators_model_type", "dflash", "its type is 'dflash'"),
        ("transformer_layer_config", {"model_type": "qwen3"}, "its layer is 'qwen3'"),
        ("transformer_layer_config", None, "no `transformer_layer_config`"),
        ("eagle_aux_hidden_state_layer_ids", [0, 1], "no list of numbers from 1 on"),
    ],
)
def test_a_speculators_draft_that_means_something_else(
    tmp_path: Path, key: str, value: object, says: str
) -> None:
    made = eagle3_speculators()
    made.config[key] = value
    result = run(made.write(tmp_path / "draft"), tmp_path / "out", "0.5.13")
    assert result.exit_code == 2
    assert says in result.stderr
    assert not (tmp_path / "out").exists()
