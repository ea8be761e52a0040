"""Whatever a log holds, reading it ends; and what is cut tells no more than the whole."""

from __future__ import annotations

from functools import cache

import pytest
from engine_logs import Sglang, Vllm
from hypothesis import given, settings
from hypothesis import strategies as st

from specpreflight.engines.logs.compare import compare
from specpreflight.engines.logs.diagnose import diagnose
from specpreflight.engines.logs.remedies import remedies
from specpreflight.models.diagnosis import Diagnosis
from specpreflight.reports.diagnosis_text import render_diagnosis
from specpreflight.sources.log_reader import unwrap


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
