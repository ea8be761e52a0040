"""`specpreflight diagnose` as a user types it."""

from __future__ import annotations

import gzip
import re
import shlex
from collections.abc import Callable
from pathlib import Path

import pytest

from specpreflight.cli import main

ROOT = Path(__file__).parents[2]
EXAMPLE = ROOT / "examples" / "kimi-k2.5-eagle3"
BAD, GOOD = EXAMPLE / "launch-3-steps.log", EXAMPLE / "launch-2-steps.log"


def test_the_story_in_one_screen(run: Callable[..., object]) -> None:
    ran = run("diagnose", BAD, "--against", GOOD)
    assert ran.code == 1
    for words in (
        "L-CTX-DRAFT",
        "262144",
        "131072",
        "draft-context-shorter",
        "max_position_embeddings",
        "SGLANG_ALLOW_OVERWRITE_LONGER_CONTEXT_LEN",
        "a warning -> an error",
        "speculative_num_steps",
    ):
        assert words in ran.stdout
    assert len(ran.stdout.splitlines()) <= 24


def test_the_data(run: Callable[..., object]) -> None:
    data = run("diagnose", BAD, "--against", GOOD, "--format", "json").data
    assert data["engine"] == "sglang"
    assert data["version"] == {"low": "0.5.9", "high": "0.5.9"}
    assert (data["healthy"], data["stage"], data["cause"]) == (False, "DCFG", "L-CTX-DRAFT")
    assert data["rule"] == "draft-context-shorter"
    assert data["values"]["target_context"] == 262144
    assert data["launch"]["draft"] == "draft"
    assert data["differences"][0]["explains"]


def test_a_healthy_log(run: Callable[..., object]) -> None:
    ran = run("diagnose", GOOD, "--format", "json")
    assert ran.code == 0
    assert ran.data["healthy"] is True
    assert ran.data["cause"] is None
    assert ran.data["acceptance_length"] == pytest.approx(2.13, abs=0.1)


def test_secrets_are_not_repeated(run: Callable[..., object], tmp_path: Path) -> None:
    log = tmp_path / "server.log"
    log.write_text(
        "[2026-01-01 10:00:00] server_args=ServerArgs(model_path='m', api_key='sk-planted',"
        " admin_api_key='sk-planted', tokenizer_path='t')\n"
    )
    data = run("diagnose", log, "--format", "json")
    assert "sk-planted" not in data.stdout
    assert data.data["launch"]["arguments"]["tokenizer_path"] == "t"


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "is empty"),
        (b"\n\n", "is empty"),
        (b"\x00\x01\x02" * 50, "is no text"),
        (b"hello\nworld\n", "no line of SGLang or vLLM"),
        (b"x" * 3_000_000, "no line of SGLang or vLLM"),
        (gzip.compress(b"hello " * 9999, mtime=0)[:40] + b"broken", "gzip"),
    ],
)
def test_bad_input(run: Callable[..., object], tmp_path: Path, content: bytes, words: str) -> None:
    log = tmp_path / "server.log"
    log.write_bytes(content)
    ran = run("diagnose", log)
    assert ran.code == 4
    assert words in ran.stderr
    assert str(log) in ran.stderr


LINE = "[2026-01-01 10:00:00] Load weight begin. avail mem=78.00 GB\n"


@pytest.mark.parametrize(
    "content",
    [
        LINE.encode("utf-16-le"),
        LINE.encode("utf-16"),
        LINE.replace("Load", "é Load").encode("latin-1") + LINE.encode(),
        LINE.encode() + b"\n" * 5000 + b"\0\1\2" * 5000,
        LINE.encode() + b"x" * 3_000_000,
        LINE.encode()[:-8],
        LINE.replace("\n", "\r\n").encode(),
    ],
    ids=["utf-16-le", "utf-16", "latin-1", "binary end", "endless line", "cut", "crlf"],
)
def test_odd_logs_are_read_as_far_as_they_go(
    run: Callable[..., object], tmp_path: Path, content: bytes
) -> None:
    log = tmp_path / "server.log"
    log.write_bytes(content)
    ran = run("diagnose", log, "--format", "json")
    assert (ran.code, ran.data["engine"], ran.data["stage"]) == (0, "sglang", "TW")
    assert ran.data["healthy"] is None


def test_a_gzip_file_that_is_cut(run: Callable[..., object], tmp_path: Path) -> None:
    log = tmp_path / "server.log.gz"
    log.write_bytes(gzip.compress(GOOD.read_bytes())[:-300])
    ran = run("diagnose", log, "--format", "json")
    assert ran.code == 0
    assert f"{log}: the gzip file is cut" in ran.stderr
    assert ran.data["launch"]["target"] == "target"


def test_a_missing_file(run: Callable[..., object], tmp_path: Path) -> None:
    ran = run("diagnose", tmp_path / "none.log")
    assert ran.code == 4
    assert "none.log" in ran.stderr


def test_the_standard_input(run: Callable[..., object]) -> None:
    assert run("diagnose", "-", stdin=BAD.read_text()).code == 1


def test_the_launch_is_checked(run: Callable[..., object], tmp_path: Path) -> None:
    target, draft = EXAMPLE / "target", EXAMPLE / "draft"
    ran = run("diagnose", BAD, "--target", target, "--draft", draft)
    assert ran.code == 1
    assert f"check: {draft}/config.json:" in ran.stdout
    assert "the draft's context length 131072 is below the target's 262144" in ran.stdout
    assert f"specpreflight check {target} {draft} --engine sglang@0.5.9 --fix" in ran.stdout
    data = run("diagnose", BAD, "--target", target, "--draft", draft, "--format", "json").data
    assert [one["rule"] for one in data["check"]["explaining"]] == ["draft-context-shorter"]
    assert data["check"]["missing"] == []
    assert "--speculative-num-steps 3" in data["check"]["command"]


def test_what_is_not_here_is_said(
    run: Callable[..., object], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = tmp_path / "server.log"
    log.write_bytes(BAD.read_bytes())
    monkeypatch.chdir(tmp_path)
    ran = run("diagnose", log)
    assert ran.code == 1
    missing = "target (give --target), draft (give --draft)"
    assert f"check: not on this machine: {missing}\n" in ran.stdout
    ran = run("diagnose", log, "--draft", EXAMPLE / "draft")
    assert "(give --draft)" not in ran.stdout


def test_other_checkpoints_than_the_logs(run: Callable[..., object], tmp_path: Path) -> None:
    draft = tmp_path / "draft"
    draft.mkdir()
    text = (EXAMPLE / "draft" / "config.json").read_text()
    (draft / "config.json").write_text(text.replace("131072", "262144"))
    ran = run("diagnose", BAD, "--target", EXAMPLE / "target", "--draft", draft)
    assert "these checkpoints do not have it" in ran.stdout


def test_the_variable_that_the_log_proves_is_checked_with(run: Callable[..., object]) -> None:
    ran = run(
        "diagnose", GOOD, "--target", EXAMPLE / "target", "--draft", EXAMPLE / "draft",
        "--format", "json",
    )  # fmt: skip
    assert ran.code == 0
    assert "SGLANG_ALLOW_OVERWRITE_LONGER_CONTEXT_LEN=1" in ran.data["check"]["command"]


@pytest.mark.parametrize(("log", "code"), [(BAD, 1), (GOOD, 0)])
def test_following_a_log_that_is_whole_already(
    run: Callable[..., object], monkeypatch: pytest.MonkeyPatch, log: Path, code: int
) -> None:
    monkeypatch.setattr("specpreflight.sources.log_follower.PAUSE", 0)
    ran = run("diagnose", "--follow", log)
    assert ran.code == code
    assert ("L-CTX-DRAFT" in ran.stdout) == bool(code)


def test_following_what_does_not_grow(run: Callable[..., object], tmp_path: Path) -> None:
    assert run("diagnose", "--follow", "server.log.gz").code == 2
    assert run("diagnose", "--follow", tmp_path / "none.log").code == 4


def test_the_page_shows_what_is_printed(
    run: Callable[..., object], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(EXAMPLE)
    page = (ROOT / "docs" / "diagnosing.md").read_text()
    shown = re.findall(r"```console\n\$ (specpreflight [^\n]+)\n(.*?)```", page, re.DOTALL)
    assert shown
    for command, output in shown:
        assert run(*shlex.split(command)[1:]).stdout == output
    assert main.name


@pytest.mark.parametrize(("last", "cause"), [(BAD, "L-CTX-DRAFT"), (GOOD, None)])
def test_a_server_that_restarts_for_ever(
    run: Callable[..., object], tmp_path: Path, last: Path, cause: str | None
) -> None:
    log = tmp_path / "server.log"
    log.write_bytes((GOOD.read_bytes() + BAD.read_bytes()) * 40 + last.read_bytes())
    data = run("diagnose", log, "--format", "json").data
    assert (data["cause"], data["healthy"]) == (cause, cause is None)
    assert data["last_line"] == log.read_bytes().count(b"\n")
    assert data["version"] == {"low": "0.5.9", "high": "0.5.9"}
    assert data["values"]["num_steps"] == (3 if cause else 2)
    if cause:
        assert (data["values"]["ranks"], data["seconds_to_death"]) == (8, 535.0)
