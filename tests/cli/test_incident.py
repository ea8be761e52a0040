"""The launch that the project was written for, through the command line."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from launches import LLAMA, LLAMA_EAGLE3, change, write_checkpoint

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "kimi-k2.5-eagle3"
FLAGS = (
    "--", "--speculative-algorithm", "EAGLE3", "--speculative-num-steps", "3",
    "--speculative-eagle-topk", "1", "--speculative-num-draft-tokens", "4",
)  # fmt: skip
OVERRIDE = ("--env", "SGLANG_ALLOW_OVERWRITE_LONGER_CONTEXT_LEN=1")
JSON = ("--no-env", "--format", "json")


@pytest.fixture
def kimi(tmp_path: Path) -> Path:
    """A copy of the example that a test may fix."""
    return Path(shutil.copytree(EXAMPLE, tmp_path / "kimi"))


def check(run: Callable[..., Any], kimi: Path, version: str, *options: str) -> Any:
    return run(
        "check", kimi / "target", kimi / "draft", "--engine", f"sglang@{version}", *options, *FLAGS
    )


def shorter(data: Any) -> Any:
    [finding] = [one for one in data["findings"] if one["rule"] == "draft-context-shorter"]
    return finding


def test_it_crashes_at_the_drafts_config(run: Callable[..., Any], kimi: Path) -> None:
    ran = check(run, kimi, "0.5.11", *JSON)
    assert ran.code == 1
    assert ran.data["verdict"]["outcome"] == "crashes"
    assert ran.data["verdict"]["stage"] == "draft-config"
    finding = shorter(ran.data)
    places = {value["value"]: value["origin"]["line"] for value in finding["values"]}
    lines = {
        131072: (kimi / "draft" / "config.json").read_text().splitlines(),
        262144: (kimi / "target" / "config.json").read_text().splitlines(),
    }
    for length, text in lines.items():
        assert f'"max_position_embeddings": {length}' in text[places[length] - 1]
    assert "greater than the derived context_length (131072)" in finding["engine_message"]
    kinds = [remedy["kind"] for remedy in finding["remedies"]]
    assert kinds == ["edit", "flag", "environment", "flag"]


def test_the_variable_lets_it_start_and_the_engine_overrides(
    run: Callable[..., Any], kimi: Path
) -> None:
    ran = check(run, kimi, "0.5.11", *JSON, *OVERRIDE)
    assert ran.code == 0
    assert ran.data["verdict"]["outcome"] == "adjusts"
    assert "overrides" in shorter(ran.data)["message"]


def test_0_5_9_cannot_capture_from_this_target(run: Callable[..., Any], kimi: Path) -> None:
    ran = check(run, kimi, "0.5.9", *JSON)
    rules = {one["rule"] for one in ran.data["findings"] if one["outcome"] == "crashes"}
    assert rules == {"draft-context-shorter", "target-cannot-capture"}


@pytest.mark.parametrize(
    ("version", "code", "severity"),
    [("0.4.9.post6", 0, "warning"), ("0.5.2", 1, "error")],
)
def test_llama_pair_was_let_through_before_0_5(
    run: Callable[..., Any], tmp_path: Path, version: str, code: int, severity: str
) -> None:
    write_checkpoint(tmp_path / "target", change(LLAMA, max_position_embeddings=262144))
    write_checkpoint(tmp_path / "draft", LLAMA_EAGLE3)
    ran = check(run, tmp_path, version, *JSON)
    assert ran.code == code
    assert shorter(ran.data)["severity"] == severity


@pytest.mark.parametrize("given", [131071, 131072, 131073])
def test_context_length_is_a_way_out_up_to_the_drafts(
    run: Callable[..., Any], kimi: Path, given: int
) -> None:
    ran = check(run, kimi, "0.5.11", *JSON)
    again = run(
        "check", kimi / "target", kimi / "draft", "--engine", "sglang@0.5.11", *JSON, *FLAGS,
        "--context-length", str(given),
    )  # fmt: skip
    assert ran.code == 1
    assert again.code == int(given > 131072)


def test_diff_and_fix_agree_to_the_byte_and_the_second_fix_does_nothing(
    run: Callable[..., Any], kimi: Path
) -> None:
    config = kimi / "draft" / "config.json"
    before = config.read_bytes()
    diff = check(run, kimi, "0.5.11", "--no-env", "--diff")
    assert diff.code == 0
    assert config.read_bytes() == before
    fixed = check(run, kimi, "0.5.11", "--fix", *JSON)
    after = config.read_bytes()
    assert fixed.code == 0
    assert fixed.data["verdict"]["outcome"] == "starts"
    assert after == before.replace(b"131072", b"262144")
    removed = [line[1:] for line in diff.stdout.splitlines() if line.startswith("-  ")]
    added = [line[1:] for line in diff.stdout.splitlines() if line.startswith("+  ")]
    assert before.decode().replace(removed[0], added[0]) == after.decode()
    again = check(run, kimi, "0.5.11", "--fix", *JSON)
    assert again.code == 0
    assert config.read_bytes() == after
    assert "fixed" not in again.stderr


def test_the_launch_scripts_are_understood(run: Callable[..., Any]) -> None:
    ran = run("check", EXAMPLE / "launch-3-steps.sh", "--engine", "sglang@0.5.11", *JSON)
    assert ran.code == 1
    assert ran.data["inputs"]["environment"]["NCCL_PROTO"] == "LL"
    assert ran.data["resolved"]["num_steps"]["value"] == 3
    nccl = [one for one in ran.data["findings"] if "nccl" in one["rule"]]
    assert {one["severity"] for one in nccl} <= {"note"}


def test_without_flags_the_algorithm_comes_from_the_drafts_format(
    run: Callable[..., Any], kimi: Path
) -> None:
    ran = run("check", kimi / "target", kimi / "draft", *JSON)
    assert ran.code == 1
    assert ran.data["resolved"]["algorithm"]["value"] == "EAGLE3"
    assert "newest" in ran.data["engine"]["determined_by"]


def test_report_is_the_same_in_text(run: Callable[..., Any], kimi: Path) -> None:
    ran = check(run, kimi, "0.5.11", "--no-env")
    first = ran.stdout.splitlines()[0]
    assert first.startswith("SGLang 0.5.11 crashes when the draft's config is read")
    assert '"max_position_embeddings": 131072' in ran.stdout
    assert "--diff -- --speculative-algorithm EAGLE3" in ran.stdout.splitlines()[-1]


def test_json_output_is_deterministic(run: Callable[..., Any], kimi: Path) -> None:
    runs = {json.dumps(check(run, kimi, "0.5.11", *JSON).data) for _ in range(2)}
    assert len(runs) == 1


def test_the_next_step_goes_from_report_to_diff_to_fix(run: Callable[..., Any], kimi: Path) -> None:
    last = check(run, kimi, "0.5.11", "--no-env").stdout.splitlines()[-1]
    assert " --diff -- --speculative-algorithm" in last
    last = check(run, kimi, "0.5.11", "--no-env", "--diff").stderr.splitlines()[-1]
    assert " --fix -- --speculative-algorithm" in last
    assert "--diff" not in last
