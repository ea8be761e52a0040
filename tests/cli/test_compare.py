"""`specpreflight compare`, as a user types it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from launches import LLAMA, LLAMA_EAGLE3, change, write_checkpoint
from make_checkpoints import eagle3_specforge

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "kimi-k2.5-eagle3"
Run = Callable[..., Any]


def compare(run: Run, *words: str | Path) -> Any:
    ran = run("compare", *words)
    assert ran.code == 0, ran.stderr
    if "json" not in words:
        assert max(map(len, ran.stdout.splitlines())) <= 80
    return ran


@pytest.fixture
def example(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(EXAMPLE)


@pytest.mark.usefixtures("example")
def test_the_two_launches_of_the_story(run: Run) -> None:
    ran = compare(
        run, "launch-2-steps.sh", "launch-3-steps.sh", "--engine", "sglang@0.5.11",
        "--format", "json",
    )  # fmt: skip
    assert ran.data["format_version"] == "1"
    assert [
        (one["part"], one["name"], one["before"], one["after"]) for one in ran.data["changes"]
    ] == [
        ("flags", "--speculative-num-steps", "2", "3"),
        ("flags", "--speculative-num-draft-tokens", "3", "4"),
    ]
    assert [
        consequence["text"].partition(" (")[0]
        for one in ran.data["changes"]
        for consequence in one["consequences"]
    ] == ["num_steps 2 → 3", "num_draft_tokens 3 → 4"]
    assert ran.data["together"] == []


@pytest.mark.usefixtures("example")
def test_the_same_as_a_table(run: Run) -> None:
    told = compare(
        run, "launch-2-steps.sh", "launch-3-steps.sh", "--engine", "sglang@0.5.11"
    ).stdout
    assert "  --speculative-num-steps         2                       3\n" in told
    assert "--mem-fraction-static" not in told


@pytest.mark.usefixtures("example")
def test_all_lists_what_is_the_same(run: Run) -> None:
    told = compare(run, "launch-2-steps.sh", "launch-3-steps.sh", "--all").stdout
    rows = {line.split()[0]: line.split()[1:] for line in told.splitlines() if line.split()}
    assert rows["--mem-fraction-static"] == ["0.85", "0.85"]
    assert rows["NCCL_PROTO"] == ["LL", "LL"]
    assert "text_config/vocab_size" in rows


@pytest.mark.usefixtures("example")
def test_the_logs_of_the_story(run: Run) -> None:
    ran = compare(run, "launch-2-steps.log", "launch-3-steps.log")
    lines = ran.stdout.splitlines()
    assert lines[0] == "A  launch-2-steps.log: sglang 0.5.9 started and served"
    assert "draft-context-shorter" in lines[1]
    assert "the context mismatch" in ran.stdout
    assert "the same two numbers" in ran.stdout


@pytest.mark.usefixtures("example")
def test_a_log_with_the_script_that_wrote_it(run: Run) -> None:
    data = compare(
        run, "launch-2-steps.log", "launch-2-steps.sh", "--engine", "sglang@0.5.9",
        "--format", "json",
    ).data  # fmt: skip
    [only] = data["changes"]
    assert only["name"] == "SGLANG_ALLOW_OVERWRITE_LONGER_CONTEXT_LEN"
    assert (only["before"], only["after"]) == ("1", "<missing>")


@pytest.mark.usefixtures("example")
def test_commands_of_one_word(run: Run) -> None:
    command = "python -m sglang.launch_server --model-path target --tp {}"
    data = compare(run, command.format(4), command.format(8), "--format", "json").data
    assert [(one["name"], one["before"], one["after"]) for one in data["changes"]] == [
        ("--tp-size", "4", "8")
    ]


@pytest.mark.usefixtures("example")
def test_a_recorded_launch_with_its_script(run: Run, tmp_path: Path) -> None:
    lock = tmp_path / "launch.lock.json"
    run("record", "launch-2-steps.sh", "--engine", "sglang@0.5.11", "--output", lock)
    told = compare(run, lock, "launch-2-steps.sh", "--engine", "sglang@0.5.11").stdout
    assert told.endswith("\nno difference\n")
    other = tmp_path / "other.lock.json"
    run("record", "launch-3-steps.sh", "--engine", "sglang@0.5.9", "--output", other)
    data = compare(run, lock, other, "--format", "json").data
    assert {one["name"] for one in data["changes"]} == {
        "engine", "--speculative-num-steps", "--speculative-num-draft-tokens",
    }  # fmt: skip
    [engine] = [one for one in data["changes"] if one["name"] == "engine"]
    assert engine["consequences"][0]["rule"] == "target-cannot-capture"


def test_scripts_whose_checkpoints_are_elsewhere(run: Run, tmp_path: Path) -> None:
    for name, tokens in (("a.sh", 4), ("b.sh", 8)):
        (tmp_path / name).write_text(
            f"export NCCL_NTHREADS={tokens}\n"
            "python -m sglang.launch_server --model-path /models/none "
            f"--speculative-algorithm EAGLE3 --speculative-num-draft-tokens {tokens}\n"
        )
    ran = compare(run, tmp_path / "a.sh", tmp_path / "b.sh", "--format", "json")
    assert "/models/none/config.json" in ran.stderr
    assert {one["name"] for one in ran.data["changes"]} == {
        "--speculative-num-draft-tokens", "NCCL_NTHREADS",
    }  # fmt: skip


# Checkpoints


@pytest.mark.usefixtures("example")
def test_a_draft_with_its_target(run: Run) -> None:
    data = compare(run, "target", "draft", "--format", "json").data
    rows = {one["name"]: one for one in data["changes"]}
    length = rows["max_position_embeddings"]
    assert (length["before"], length["after"]) == (262144, 131072)
    assert "draft-context-shorter" in length["rules"]
    assert [one["rule"] for one in length["consequences"]] == ["draft-context-shorter"]
    assert "hidden_size" not in rows
    assert not any(name.startswith("vision_config") for name in rows)


def test_a_draft_with_its_target_the_other_way_round(run: Run, tmp_path: Path) -> None:
    write_checkpoint(tmp_path / "target", change(LLAMA, max_position_embeddings=262144))
    write_checkpoint(tmp_path / "draft", LLAMA_EAGLE3)
    data = compare(run, tmp_path / "draft", tmp_path / "target", "--format", "json").data
    [length] = [one for one in data["changes"] if one["name"] == "max_position_embeddings"]
    assert [one["rule"] for one in length["consequences"]] == ["draft-context-shorter"]


def test_two_drafts(run: Run, tmp_path: Path) -> None:
    eagle3_specforge().write(tmp_path / "old")
    eagle3_specforge().write(tmp_path / "new")
    config = tmp_path / "new" / "config.json"
    config.write_text(config.read_text().replace('"hidden_size"', '"hidden_size_"'))
    (tmp_path / "new" / "tokenizer.json").write_text("{}")
    told = compare(run, tmp_path / "old", tmp_path / "new").stdout
    assert "read by hidden-size-differs" in told
    assert "other files: tokenizer.json (new)" in told


def test_two_drafts_with_a_target(run: Run, tmp_path: Path) -> None:
    write_checkpoint(tmp_path / "target", LLAMA)
    write_checkpoint(tmp_path / "old", LLAMA_EAGLE3)
    write_checkpoint(tmp_path / "new", change(LLAMA_EAGLE3, max_position_embeddings=65536))
    data = compare(
        run, tmp_path / "old", tmp_path / "new", "--target", tmp_path / "target",
        "--engine", "sglang@0.5.11", "--no-env", "--format", "json",
    ).data  # fmt: skip
    [length] = [one for one in data["changes"] if one["name"] == "max_position_embeddings"]
    assert length["consequences"][0]["rule"] == "draft-context-shorter"
    assert data["after_verdict"]["outcome"] == "crashes"


def test_tensors_of_two_drafts(run: Run, tmp_path: Path) -> None:
    eagle3_specforge().write(tmp_path / "old")
    eagle3_specforge().write(tmp_path / "new")
    weights = tmp_path / "new" / "model.safetensors"
    weights.write_bytes(weights.read_bytes().replace(b'"norm.weight"', b'"norn.weight"'))
    data = compare(run, tmp_path / "old", tmp_path / "new", "--format", "json").data
    tensors = {one["name"]: one["after"] for one in data["changes"] if one["part"] == "tensors"}
    assert tensors["norm.weight"] == "<missing>"
    assert tensors["norn.weight"].startswith("BF16 [")


def test_the_same_checkpoint(run: Run, tmp_path: Path) -> None:
    write_checkpoint(tmp_path / "target", LLAMA)
    told = compare(run, tmp_path / "target", tmp_path / "target").stdout
    assert told.endswith("\nno difference\n")


@pytest.mark.parametrize(
    ("a", "b", "code", "words"),
    [
        ("target", "launch-2-steps.sh", 2, "target is a checkpoint, and the other is a launch"),
        ("nowhere", "draft", 4, "nowhere"),
        ("launch-2-steps.sh", "echo hello", 4, "no launch"),
        ("launch-2-steps.log", "README.log", 4, "README.log"),
    ],
)
@pytest.mark.usefixtures("example")
def test_what_cannot_be_compared(run: Run, a: str, b: str, code: int, words: str) -> None:
    ran = run("compare", a, b)
    assert ran.code == code
    assert words in ran.stderr
