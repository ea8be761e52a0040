"""Logs whose arguments line was cut where nobody can tell: that is said, and nothing is guessed."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from engine_logs import LINE_MAX, Sglang, journal

LONG = Sglang("0.5.9", chat_template="for " * 30_000).start("RUN").text


@pytest.mark.parametrize("size", [LINE_MAX - 2, LINE_MAX + 1, 8000])
def test_what_cannot_be_told_is_said_to_be_cut(
    run: Callable[..., object], tmp_path: Path, size: int
) -> None:
    log = tmp_path / "server.log"
    log.write_text("\n".join(journal(LONG, size)))
    ran = run("diagnose", log)
    assert ran.code == 0
    assert "the line of the arguments is cut after `" in ran.stdout
    assert "what follows there is not known" in ran.stdout
    data = run("diagnose", log, "--format", "json").data
    assert data["launch"]["complete"] is False
    assert "speculative_num_steps" not in data["launch"]["arguments"]


def test_a_cut_launch_is_not_checked_as_if_it_were_whole(
    run: Callable[..., object], tmp_path: Path
) -> None:
    dead = Sglang("0.5.9", chat_template="x" * 60_000).start("DW")
    dead.die("KeyError: 'lm_head.weight'", ["sglang/srt/models/a.py:load_weights"])
    log = tmp_path / "server.log"
    log.write_text("\n".join(journal(dead.text, 8000)))
    ran = run("diagnose", log)
    assert ran.code == 1
    assert "check: no launch to check: the line of the arguments is cut" in ran.stdout
    log.write_text("\n".join(journal(dead.text)))
    assert "is cut" not in run("diagnose", log).stdout


def test_records_without_their_long_lines_are_told(
    run: Callable[..., object], tmp_path: Path
) -> None:
    records = [
        json.dumps({"MESSAGE": line if len(line) < 4096 else None})
        for line in Sglang("0.5.9").start("RUN").text.splitlines()
    ]
    log = tmp_path / "journal.json"
    log.write_text("\n".join(records))
    assert f"{log}: lines of 4096 bytes and more are left out" in run("diagnose", log).stderr
