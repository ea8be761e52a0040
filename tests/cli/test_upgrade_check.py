"""`specpreflight upgrade-check` and `engines diff`, as a user types them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from engine_trees import write_tree
from launches import EAGLE3_FLAGS, LLAMA, LLAMA_EAGLE3, change, write_checkpoint
from release_tree import ARGUMENTS, release_files

Run = Callable[..., Any]


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a draft that is shorter than its target, to be in."""
    write_checkpoint(tmp_path / "target", change(LLAMA, max_position_embeddings=262144))
    write_checkpoint(tmp_path / "draft", LLAMA_EAGLE3)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path


def upgrade(run: Run, before: str, after: str, *words: str) -> Any:
    return run(
        "upgrade-check", "--from", before, "--to", after, "target", "draft", "--no-env", *words,
        "--", *EAGLE3_FLAGS,
    )  # fmt: skip


def test_a_warning_becomes_an_error(run: Run, here: Path) -> None:
    ran = upgrade(run, "0.4.10", "0.5.23")
    assert ran.code == 1
    told = " ".join(ran.stdout.split())
    assert told.startswith("from: SGLang 0.4.10 starts")
    assert "to: SGLang 0.5.23 crashes when the draft's config is read" in told
    assert "to change draft-context-shorter: the draft's context length 131072 is below" in told
    assert "1. set `max_position_embeddings` to 262144 in draft/config.json" in told
    assert "this was a warning, is now an error (crashes, draft-config)" in told
    assert max(map(len, ran.stdout.splitlines())) <= 80


def test_what_is_behind_it_is_listed_when_asked_for(run: Run, here: Path) -> None:
    assert "context.over-length" not in upgrade(run, "0.4.10", "0.5.23").stdout
    assert "context.over-length  warns → refuses" in upgrade(run, "0.4.10", "0.5.23", "-v").stdout


def test_nothing_has_to_change(run: Run, here: Path) -> None:
    write_checkpoint(here / "draft", change(LLAMA_EAGLE3, max_position_embeddings=262144))
    ran = upgrade(run, "0.5.6", "0.5.23")
    assert ran.code == 0
    assert "nothing has to change" in ran.stdout


def test_json(run: Run, here: Path) -> None:
    data = upgrade(run, "0.4.10", "0.5.23", "--format", "json").data
    assert data["format_version"] == "1"
    assert (data["before_verdict"]["outcome"], data["after_verdict"]["outcome"]) == (
        "degrades", "crashes",
    )  # fmt: skip
    assert [one["rule"] for one in data["to_do"]] == ["draft-context-shorter"]
    assert data["to_do"][0]["remedies"][0]["edits"][0]["after"] == 262144
    names = {one["name"]: one for one in data["changes"]}
    assert (names["engine"]["before"], names["engine"]["after"]) == ("0.4.10", "0.5.23")


def test_a_recorded_launch(run: Run, here: Path) -> None:
    run("record", "target", "draft", "--engine", "sglang@0.4.10", "--no-env", "--", *EAGLE3_FLAGS)
    ran = run("upgrade-check", "--from", "0.4.10", "--to", "0.5.23", "--no-env", "launch.lock.json")
    assert ran.code == 1
    assert ran.stdout == upgrade(run, "0.4.10", "0.5.23").stdout


def test_a_flag_that_is_gone(run: Run, here: Path) -> None:
    words = ("--", "--enable-ep-moe", *EAGLE3_FLAGS)
    ran = run(
        "upgrade-check", "--from", "0.4.9", "--to", "0.5.9", "target", "draft", "--no-env", "-v",
        *words,
    )  # fmt: skip
    assert ran.code == 1
    assert "arguments-not-understood: unrecognized arguments: --enable-ep-moe" in ran.stdout
    assert "gone: --enable-ep-moe" in ran.stdout


@pytest.mark.parametrize(
    ("before", "after", "code", "words"),
    [
        ("0.5.9", "vllm@0.20.0", 2, "two engines"),
        ("0.1", "0.5.9", 2, "older than every known release"),
        ("0.5.9", "x.y", 2, "no SGLang version"),
    ],
)
def test_versions_that_give_no_answer(
    run: Run, here: Path, before: str, after: str, code: int, words: str
) -> None:
    ran = upgrade(run, before, after)
    assert ran.code == code
    assert words in ran.stderr


def test_releases_without_a_launch(run: Run) -> None:
    told = run("engines", "diff", "sglang@0.4.9", "sglang@0.5.9").stdout
    assert told.startswith("sglang 0.4.9 → sglang 0.5.9\n")
    assert "  context.over-length  warns → refuses\n" in told
    assert "--hicache-write-policy default  write_through_selective → write_through" in told
    assert "  torch  2.7.1 → 2.9.1\n" in told
    assert max(map(len, told.splitlines())) <= 80


def test_the_same_release(run: Run) -> None:
    told = run("engines", "diff", "sglang@0.5.9", "sglang@0.5.9").stdout
    assert told == "sglang 0.5.9 → sglang 0.5.9\n\nno difference is known\n"


def test_releases_as_json(run: Run) -> None:
    data = run("engines", "diff", "vllm@0.11.0", "vllm@0.20.0", "--format", "json").data
    changes = {(one["part"], one["name"]): one for one in data["changes"]}
    assert ("speculative keys", "draft_load_config") in changes
    assert changes["variables", "VLLM_USE_V1"]["after"] == "<missing>"


def test_with_a_launch_only_what_touches_it(run: Run, here: Path) -> None:
    words = ("engines", "diff", "sglang@0.5.9", "sglang@0.5.11", "target", "draft", "--no-env")
    data = run(*words, "--format", "json", "--", *EAGLE3_FLAGS).data
    everything = run("engines", "diff", "sglang@0.5.9", "sglang@0.5.11", "--format", "json").data
    assert len(data["changes"]) < len(everything["changes"]) / 10
    names = {one["name"] for one in data["changes"]}
    assert "LlamaForCausalLMEagle3 offers" in names
    assert "eagle3.graphs-with-default-layers" in names
    assert not any(name.startswith("Qwen") for name in names)
    assert "eagle3.gpt-oss-ids" not in names


def test_a_tree_against_its_release(run: Run, here: Path) -> None:
    files = {**release_files("0.5.9"), "version.py": '__version__ = "0.5.9"\n'}
    tree = write_tree(here, files)
    same = run("engines", "diff", "sglang@0.5.9", f"sglang@{tree.root}", "--format", "json").data
    before = {one["name"] for one in same["changes"] if one["part"] in ("flags", "behaviour")}
    changed = files[ARGUMENTS].replace("dest='speculative_num_steps'", "dest='steps'")
    assert changed != files[ARGUMENTS]
    files[ARGUMENTS] = changed.replace("'--speculative-num-steps'", "'--steps'")
    write_tree(here, files)
    data = run("engines", "diff", "sglang@0.5.9", str(tree.root), "--format", "json").data
    after = {one["name"] for one in data["changes"] if one["part"] in ("flags", "behaviour")}
    assert after - before == {"--steps", "--speculative-num-steps"}
