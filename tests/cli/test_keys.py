"""`keys`: the table and the JSON of what a loader does with a draft's tensors."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from make_checkpoints import eagle3_specforge, llama_target, qwen3_next_mtp

from specpreflight.cli import main


def run(*words: object) -> Result:
    return CliRunner().invoke(main, ["keys", *map(str, words)])


@pytest.fixture
def pair(tmp_path: Path) -> tuple[Path, Path]:
    target = llama_target().write(tmp_path / "target")
    return eagle3_specforge().write(tmp_path / "draft"), target


def as_json(*words: object) -> dict[str, object]:
    return json.loads(run(*words, "--format", "json").stdout)


@pytest.mark.parametrize(("release", "decoder"), [("0.5.11", "midlayer"), ("0.5.12", "layers.0")])
def test_json_of_a_sound_draft(pair: tuple[Path, Path], release: str, decoder: str) -> None:
    draft, target = pair
    words = (draft, "--for", f"sglang@{release}", "--algorithm", "EAGLE3", "--target", target)
    found = as_json(*words)
    assert found["dropped"] == ["t2d"]
    assert found["untouched"] == ["model.embed_tokens.weight"]
    assert found["error"] is None
    assert len(found["taken"]) == 14
    assert found["parameters"]["midlayer.hidden_norm.weight"] == [
        f"model.{decoder}.hidden_norm.weight"
    ]


def test_the_table_names_every_fate(pair: tuple[Path, Path]) -> None:
    draft, target = pair
    result = run(draft, "--for", "sglang@0.5.11", "--algorithm", "EAGLE3", "--target", target)
    assert result.exit_code == 0
    assert "as LlamaForCausalLMEagle3 (models/llama_eagle3.py)" in result.stdout
    lines = [" ".join(line.split()) for line in result.stdout.splitlines()]
    assert "fc.weight BF16 128x384 taken as model.fc.weight" in lines
    assert "t2d BOOL 256 dropped" in lines
    assert lines[-1] == "14 taken, 1 dropped, 1 parameters untouched"


def test_an_error_says_where_it_stops(pair: tuple[Path, Path]) -> None:
    draft, target = pair
    config = json.loads((draft / "config.json").read_text())
    config["draft_vocab_size"] = 200
    (draft / "config.json").write_text(json.dumps(config))
    words = (draft, "--for", "sglang@0.5.11", "--algorithm", "EAGLE3", "--target", target)
    found = as_json(*words)
    assert found["error"].startswith("AssertionError: self.org_vocab_size=200")
    assert "fails: AssertionError" in run(*words).stdout


def test_a_head_in_its_targets_checkpoint(tmp_path: Path) -> None:
    path = qwen3_next_mtp().write(tmp_path / "target")
    found = as_json(path, "--for", "sglang@0.5.13", "--algorithm", "NEXTN")
    assert found["class"] == "Qwen3NextForCausalLMMTP"
    assert found["dropped"] == ["lm_head.weight", "model.embed_tokens.weight"]


def test_engine_arguments_after_two_dashes(pair: tuple[Path, Path]) -> None:
    draft, target = pair
    words = (draft, "--for", "sglang@0.5.13", "--algorithm", "EAGLE3", "--target", target)
    found = as_json(*words[:1], *words[1:])
    scaled = json.loads(run(*words, "--format", "json", "--", "--quantization", "fp8").stdout)
    assert len(scaled["untouched"]) == len(found["untouched"]) + 2


@pytest.mark.parametrize(
    ("name", "content", "says"),
    [
        ("pytorch_model.bin", b"\x80", "pickle"),
        ("model.gguf", b"GGUF", "GGUF"),
        ("README.md", b"", "no weight files"),
    ],
)
def test_weights_that_cannot_be_seen(tmp_path: Path, name: str, content: bytes, says: str) -> None:
    (tmp_path / "config.json").write_text("{}")
    (tmp_path / name).write_bytes(content)
    result = run(tmp_path, "--for", "sglang@0.5.13")
    assert result.exit_code == 4
    assert says in result.stderr


def test_a_draft_that_is_not_there(tmp_path: Path) -> None:
    result = run(tmp_path / "gone", "--for", "sglang@0.5.13")
    assert result.exit_code == 4
    assert "gone" in result.stderr


def test_a_parameter_without_weights_fails(pair: tuple[Path, Path], tmp_path: Path) -> None:
    _, target = pair
    broken = eagle3_specforge()
    del broken.shapes["norm.weight"]
    draft = broken.write(tmp_path / "broken")
    result = run(draft, "--for", "sglang@0.5.11", "--algorithm", "EAGLE3", "--target", target)
    assert result.exit_code == 1
    assert "untouched: model.norm.weight stays ones" in result.stdout


def test_an_algorithm_that_the_release_does_not_know_stops_it(run, tmp_path) -> None:
    draft = eagle3_specforge().write(tmp_path / "draft")
    target = llama_target().write(tmp_path / "target")
    words = ("keys", draft, "--algorithm", "DFLASH", "--target", target, "--format", "json")
    ran = run(*words, "--for", "sglang@0.5.9")
    assert ran.code == 1
    assert "invalid choice: 'DFLASH'" in ran.data["error"]
    assert ran.data["taken"] == []
