"""Following a log that is still written."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from engine_logs import Sglang

from specpreflight.engines.logs.watch import watch
from specpreflight.errors import InputError
from specpreflight.models.diagnosis import Diagnosis
from specpreflight.sources.log_follower import follow_blocks, read_as_written, whole_lines
from specpreflight.sources.log_reader import unwrap


class Writer:
    """Writes the next piece of a log whenever the reader has nothing new."""

    def __init__(self, path: Path, pieces: list[bytes]) -> None:
        self.path, self.pieces, self.waits = path, pieces, 0

    def __call__(self) -> None:
        self.waits += 1
        assert self.waits < 200, "nothing more is written, and it is still followed"
        if self.pieces:
            with self.path.open("ab") as file:
                file.write(self.pieces.pop(0))


def follow(path: Path, text: str, size: int = 700) -> tuple[Diagnosis, Writer]:
    """Follow a log that is written in pieces of `size` bytes."""
    data = text.encode()
    writer = Writer(path, [data[start : start + size] for start in range(0, len(data), size)])
    path.write_bytes(b"")
    return watch(follow_blocks(str(path), writer), unwrap), writer


FRAMES = ["sglang/srt/speculative/eagle_worker.py:__init__",
          "sglang/srt/models/llama_eagle3.py:load_weights"]  # fmt: skip


def test_it_ends_after_the_first_fatal_line(tmp_path: Path) -> None:
    log = Sglang("0.5.9").start("DW").die("KeyError: 'lm_head.weight'", FRAMES)
    found, writer = follow(tmp_path / "server.log", log.text)
    assert (found.cause, found.stage, found.values["ranks"]) == ("L-W-KEY", "DW", 2)
    assert not writer.pieces


def test_it_does_not_wait_for_others_to_fall_silent(tmp_path: Path) -> None:
    log = Sglang("0.5.9").start("DW").die("KeyError: 'lm_head.weight'", FRAMES)
    log.lines += ["waiting for http://127.0.0.1:30000/health ... attempt 1/30"] * 3000
    found, writer = follow(tmp_path / "server.log", log.text)
    assert found.cause == "L-W-KEY"
    assert len(writer.pieces) > 100


def test_it_ends_when_the_server_is_up(tmp_path: Path) -> None:
    log = Sglang("0.5.9").start("RUN").serve([2.0] * 400)
    found, writer = follow(tmp_path / "server.log", log.text)
    assert (found.healthy, found.cause) == (True, None)
    assert len(writer.pieces) > 50


def test_a_traceback_before_progress_does_not_end_it(tmp_path: Path) -> None:
    log = Sglang("0.5.9").start("DIST")
    log.lines += ["Traceback (most recent call last):", '  File "/x/a.py", line 1, in f', "    g()",
                  "RuntimeError: no prebuilt kernel"]  # fmt: skip
    log.lines += Sglang("0.5.9").start("RUN").lines[3:]
    assert follow(tmp_path / "server.log", log.text)[0].healthy is True


def test_a_log_that_is_cut_and_begun_anew(tmp_path: Path) -> None:
    path = tmp_path / "server.log"
    path.write_text(Sglang("0.5.9").start("TW").text)
    ready = Sglang("0.5.9").start("RUN").text.encode()
    steps: list[Callable[[], object]] = [
        lambda: path.write_bytes(b""),
        lambda: path.write_bytes(ready),
    ]
    found = watch(follow_blocks(str(path), lambda: steps.pop(0)()), unwrap)
    assert found.healthy is True


def test_a_missing_log(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no such file"):
        next(follow_blocks(str(tmp_path / "none.log")))


def test_a_pipe_is_read_to_its_end() -> None:
    reading, writing = os.pipe()
    os.write(writing, b"one\ntw")
    os.write(writing, b"o\nthree")
    os.close(writing)
    blocks = list(whole_lines(read_as_written(reading)))
    os.close(reading)
    assert b"".join(blocks) == b"one\ntwo\nthree\n"
