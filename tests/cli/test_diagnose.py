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
        (gzip.compress(b"hello " * 9999)[:40] + b"broken", "gzip"),
    ],
)
def test_bad_input(run: Callable[..., object], tmp_path: Path, content: bytes, words: str) -> None:
    log = tmp_path / "server.log"
    log.write_bytes(content)
    ran = run("diagnose", log)
    assert ran.code == 4
    assert words in ran.stderr
    assert str(log) in ran.stderr


def test_a_missing_file(run: Callable[..., object], tmp_path: Path) -> None:
    ran = run("diagnose", tmp_path / "none.log")
    assert ran.code == 4
    assert "none.log" in ran.stderr


def test_the_standard_input(run: Callable[..., object]) -> None:
    assert run("diagnose", "-", stdin=BAD.read_text()).code == 1


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
