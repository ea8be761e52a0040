"""Servers that log a traceback for each request they refuse: read once, and never the end."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from unittest.mock import patch

import pytest
from engine_logs import Sglang, Vllm, traceback_lines

from specpreflight.engines.logs.diagnose import diagnose
from specpreflight.engines.logs.lines import read_line
from specpreflight.models.diagnosis import Diagnosis
from specpreflight.sources.log_reader import BLOCK, unwrap

SERVED = 'INFO:     10.0.0.8:4001 - "POST /v1/chat/completions HTTP/1.1" {}'
ASGI = [f"starlette/middleware/m{place}.py:__call__:await self.app(scope)" for place in range(18)]


def refusals(engine: str, frames: list[str]) -> Iterator[list[str]]:
    """Yield what a server writes for one refused request after the other."""
    prefix = "(APIServer pid=511) ERROR 03-01 23:59:{:02} [serving.py:257] " * (engine == "vllm")
    number = 0
    while True:
        number += 1
        final = f"ValueError: the prompt has {40960 + number} tokens, {40960} are the most."
        told = [f"ERROR:    Exception in request {number}", *traceback_lines(frames, final)]
        yield [SERVED.format("500 Internal Server Error"), *(
            prefix.format(number % 60) + line for line in told
        )]  # fmt: skip


def dense(engine: str, count: int, *, served: bool = True, frames: list[str] = ASGI) -> list[str]:
    """Return the lines of a server that refuses `count` requests while it serves others."""
    log = Sglang("0.5.12", 2) if engine == "sglang" else Vllm("0.16.0", 2)
    lines = log.start("RUN").serve([2.0] * 6).text.splitlines()
    for refused in islice(refusals(engine, frames), count):
        lines += refused + [SERVED.format("200 OK")] * (4 * served)
    return lines


def read(lines: list[str], size: int = BLOCK) -> Diagnosis:
    data = "".join(f"{line}\n" for line in lines).encode()
    blocks, start = [], 0
    while start < len(data):
        end = data.rfind(b"\n", start, start + size) + 1 or data.index(b"\n", start) + 1
        blocks.append(data[start:end])
        start = end
    return diagnose(blocks, unwrap)


@pytest.mark.parametrize("size", [5_000, 40_000, BLOCK])
@pytest.mark.parametrize("served", [True, False])
@pytest.mark.parametrize("engine", ["sglang", "vllm"])
def test_refused_requests_are_no_end(engine: str, served: bool, size: int) -> None:
    lines = dense(engine, 400, served=served)
    found = read(lines, size)
    assert (found.engine, found.cause, found.healthy) == (engine, None, True)
    assert found.last_line == len(lines)
    assert found.acceptance_length == read(dense(engine, 0)).acceptance_length


@pytest.mark.parametrize("size", [5_000, BLOCK])
@pytest.mark.parametrize("served", [True, False])
@pytest.mark.parametrize("engine", ["sglang", "vllm"])
def test_the_end_is_found_after_any_number_of_them(engine: str, served: bool, size: int) -> None:
    lines = dense(engine, 400, served=served)
    log = Sglang("0.5.12", 2) if engine == "sglang" else Vllm("0.16.0", 2, serving=True)
    log.die("torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB.", ASGI[:9])
    found = read(lines + log.text.splitlines(), size)
    assert (found.cause, found.healthy) == ("L-MEM-OOM", False)
    assert found.values["ranks"] == 2


@pytest.mark.parametrize("engine", ["sglang", "vllm"])
def test_each_text_is_read_once(engine: str) -> None:
    lines = dense(engine, 2_000)
    with patch("specpreflight.engines.logs.reading.read_line", side_effect=read_line) as parsed:
        read(lines)
    assert parsed.call_count < len(lines) / 10


def test_survived_tracebacks_tell_the_release() -> None:
    frames = [*ASGI, "sglang/srt/speculative/eagle_worker_v2.py:forward"]
    log = "[2026-03-01 23:58:40] The server is fired up and ready to roll!"
    plain, named = (
        read([log, *next(refusals("sglang", told)), SERVED.format("200 OK")])
        for told in (ASGI, frames)
    )
    assert (plain.version.low, named.version.low) == (None, "0.5.3.post2")


@pytest.mark.parametrize("engine", ["sglang", "vllm"])
def test_a_log_without_its_beginning_serves_by_its_answers(engine: str) -> None:
    lines = dense(engine, 50)
    begun = next(place for place, line in enumerate(lines) if "500 Internal" in line)
    found = read([line.replace("ASGI", "") for line in lines[begun:]], 5_000)
    assert (found.cause, found.stage) == (None, "READY")


@pytest.mark.parametrize("size", [3_000, BLOCK])
@pytest.mark.parametrize("engine", ["sglang", "vllm"])
def test_an_answer_right_after_the_end_does_not_hide_it(engine: str, size: int) -> None:
    log = Sglang("0.5.12", 2) if engine == "sglang" else Vllm("0.16.0", 2, serving=True)
    log.die("torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB.", ASGI[:9])
    lines = dense(engine, 40) + log.text.splitlines() + [SERVED.format("200 OK")] * 2
    looked = 'INFO:     10.0.0.9:1 - "GET /metrics HTTP/1.1" 200 OK'
    assert read([*lines, *[looked] * 20], size).cause == "L-MEM-OOM"


@pytest.mark.parametrize(
    "asked",
    [
        "[2026-03-01 23:58:40] Receive: obj=GenerateReqInput(rid='a', text={})",
        "[2026-03-01 23:58:40] Finish: obj=GenerateReqInput(rid='a'), out={}",
        "(APIServer pid=511) INFO 03-01 23:59:40 [logger.py:40] Received request a: prompt: {}, x",
        "(APIServer pid=511) INFO 03-01 23:59:40 [logger.py:54] Request a details: prompt: {}, x",
    ],
)
def test_what_a_client_quotes_tells_nothing(asked: str) -> None:
    engine = "vllm" if "APIServer" in asked else "sglang"
    quoted = (
        "'Killed process 7, SIGTERM received, exit code -9, scheduler is dead. '",
        "'Why? Traceback (most recent call last):'",
        "'server_args=ServerArgs(model_path=1)'",
    )
    lines = dense(engine, 2) + [asked.format(text) for text in quoted] * 3
    found = read(lines, 2_000)
    assert (found.cause, found.healthy, len(found.earlier)) == (None, True, 0)


def test_a_proxy_that_answers_does_not_hide_a_server_that_dies_at_its_start() -> None:
    died = traceback_lines(["sglang/srt/server_args.py:__post_init__"], "ValueError: no such flag")
    lines = ["sglang starts"] + [SERVED.format("200 OK")] * 30
    found = read([*lines[:5], *died, "", *lines[5:]])
    assert found.healthy is not True
