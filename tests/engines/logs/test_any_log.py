"""Whatever a log holds, reading it ends; and what is cut tells no more than the whole."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import pytest
from engine_logs import Sglang, Vllm
from hypothesis import given, settings
from hypothesis import strategies as st

from specpreflight.engines.logs.compare import compare
from specpreflight.engines.logs.diagnose import diagnose
from specpreflight.engines.logs.remedies import remedies
from specpreflight.models.diagnosis import Diagnosis
from specpreflight.reports.diagnosis_text import render_diagnosis
from specpreflight.sources.log_reader import read_blocks, unwrap


@cache
def healthy(engine: str) -> bytes:
    log = Sglang("0.5.11", 2) if engine == "sglang" else Vllm("0.16.0", 2)
    return log.start("RUN").serve([2.0] * 8).text.encode()


@cache
def dead(engine: str) -> bytes:
    log = Sglang("0.5.11", 2) if engine == "sglang" else Vllm("0.16.0", 2)
    return (
        log.start("DW")
        .die("KeyError: 'lm_head.weight'", ["x/models/a.py:load_weights"])
        .text.encode()
    )


def read(*blocks: bytes) -> Diagnosis:
    found = diagnose(blocks, unwrap)
    assert render_diagnosis(found, remedies(found), compare(found, found))
    return found


LINES = st.lists(
    st.sampled_from(
        [*healthy("sglang").split(b"\n"), *dead("sglang").split(b"\n"),
         *healthy("vllm").split(b"\n"), *dead("vllm").split(b"\n"), b"Killed", b"",
         b"Traceback (most recent call last):",
         b"NCCL INFO Channel", b"\x1b[31m\xff\xfe", b'{"message": 3}', b'{"message": "x"}']
    ),
    max_size=40,
)  # fmt: skip


@given(lines=LINES, cut=st.integers(0, 400))
@settings(max_examples=150, deadline=None)
def test_lines_in_any_order(lines: list[bytes], cut: int) -> None:
    data = b"\n".join(lines) + b"\n"
    assert read(data[:cut], data[cut:]).last_line >= 0


@given(data=st.binary(max_size=300))
@settings(max_examples=150, deadline=None)
def test_any_bytes(data: bytes) -> None:
    assert read(data).cause is None or data


@pytest.mark.parametrize("engine", ["sglang", "vllm"])
@given(share=st.floats(0, 1))
@settings(max_examples=60, deadline=None)
def test_a_healthy_log_that_is_cut_has_no_cause(engine: str, share: float) -> None:
    data = healthy(engine)
    assert read(data[: int(share * len(data))]).cause is None


@pytest.mark.parametrize("engine", ["sglang", "vllm"])
@given(share=st.floats(0, 1))
@settings(max_examples=60, deadline=None)
def test_a_dead_log_in_two_blocks_is_the_same(engine: str, share: float) -> None:
    lines = [line + b"\n" for line in dead(engine).removesuffix(b"\n").split(b"\n")]
    place = int(share * len(lines))
    found = read(b"".join(lines[:place]), b"".join(lines[place:]))
    assert found == read(dead(engine))
    assert found.cause == "L-W-KEY"


NUMBERS = (
    b"accept len: {}, accept rate: {}, gen throughput (token/s): {}, #queue-req: {}",
    b"#running-req: {}, #token: 1, accept len: 1.5, gen throughput (token/s): {}",
    b"SpecDecoding metrics: Mean acceptance length: {}, Accepted: {} tokens, Drafted: {} tokens",
    b"Speculative metrics: Number of speculative tokens: {}, Number of accepted tokens: {}, "
    b"Number of draft tokens: {}",
    b"Avg generation throughput: {} tokens/s, Running: {} reqs",
    b"Load weight end. type=A, elapsed={} s, mem usage={} GB, avail mem={} GB",
    b"Multi-thread loading shards: {}% Completed | {}/{} [00:00<00:00]",
    b"max_total_num_tokens={}, max_running_requests={}, context_len={}",
    b"TP{}] Scheduler hit an exception",
    b"Using max model len {}",
    b"Model loading took {} GiB and {} seconds",
    b"GPU KV cache size: {} tokens",
    b"Engine startup timings: load={} total={}",
)
ODD_NUMBERS = (b"", b"x", b"-1", b".", b"1.5.3", b"1.", b",", b"nan", b"9" * 400, b"9" * 5000)


@pytest.mark.parametrize("odd", ODD_NUMBERS, ids=lambda odd: odd[:8].decode())
@pytest.mark.parametrize("engine", ["sglang", "vllm"])
def test_numbers_that_are_none(engine: str, odd: bytes) -> None:
    prefix = (
        b"[2026-08-10 11:00:24 TP0] " if engine == "sglang" else b"INFO 08-10 11:00:24 [a.py:1] "
    )
    lines = [prefix + line.replace(b"{}", odd) for line in NUMBERS]
    assert read(healthy(engine) + b"\n".join(8 * lines) + b"\n").last_line > 0


RECORDS = (
    '{"log": "x", "time": 1}',
    '{"log": "x", "time": ["2026"]}',
    '{"MESSAGE": "x", "timestamp": {"a": 1}}',
    '{"MESSAGE": "x", "timestamp": null}',
    '{"MESSAGE": "x", "__REALTIME_TIMESTAMP": "99999999999999999999"}',
    '{"MESSAGE": [1, 300, "a", -1]}',
    '{"MESSAGE": {"a": 1}}',
    '{"log":' + 100_000 * "[",
    '{"message": "x", "a":' + 100_000 * "[",
    '{"log": "x", "time": "2026-99-99T00:00:00"}',
)


@pytest.mark.parametrize("record", RECORDS, ids=lambda record: record[:60])
def test_a_record_of_a_collector(tmp_path: Path, record: str) -> None:
    log = tmp_path / "x.log"
    log.write_text(f'{{"log": "start", "time": "2026-08-10T11:00:24Z"}}\n{record}\n')
    assert read(*read_blocks(str(log))).last_line >= 0
