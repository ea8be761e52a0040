"""Servers that run and are of little use: what explains it, the likeliest first; NCCL's doings."""

from __future__ import annotations

import pytest
from engine_logs import Sglang, Vllm

from specpreflight.engines.logs.acceptance import is_falling, mean_speed, read_speeds
from specpreflight.engines.logs.diagnose import diagnose
from specpreflight.engines.logs.overlooked import OVERLOOKED
from specpreflight.engines.logs.suspects import find_suspects
from specpreflight.models.diagnosis import Diagnosis
from specpreflight.rules.registry import find_rule
from specpreflight.sources.log_reader import unwrap

NCCL = "h:1:2 [0] NCCL INFO "


def read(text: str) -> Diagnosis:
    return diagnose([text.encode()], unwrap)


def test_what_the_log_shows_comes_first() -> None:
    log = Sglang("0.5.9", speculative_algorithm="EAGLE", quantization="fp8").start("RUN")
    found = read(log.serve([1.0] * 12).text)
    assert (found.healthy, found.cause, found.silent_fault) == (True, None, "no-acceptance")
    assert found.rule == "algorithm-draft-mismatch"
    rules = [suspect.rule for suspect in found.serving.suspects]
    assert rules[:2] == ["algorithm-draft-mismatch", "quantization-inherited"]
    assert [suspect.seen for suspect in found.serving.suspects[:3]] == [True, True, False]


def test_every_suspect_is_a_rule() -> None:
    warnings = dict.fromkeys(OVERLOOKED.values(), "")
    values = {"algorithm": "EAGLE3", "draft_class": "X", "draft_context": 2048}
    for engine in ("sglang", "vllm"):
        suspects = list(
            find_suspects(
                engine, values, {"dtype": "half", "quantization": "fp8"}, warnings, is_falling=True
            )
        )
        assert len(suspects) > 12
        for suspect in suspects:
            assert find_rule(suspect.rule).name == suspect.rule


@pytest.mark.parametrize(
    ("length", "fault"),
    [
        (1.05, "no-acceptance"),
        (1.06, "little-acceptance"),
        (1.3, "little-acceptance"),
        (1.31, None),
    ],
)
def test_how_little_is_too_little(length: float, fault: str | None) -> None:
    found = read(Sglang("0.5.12").start("RUN").serve([length] * 12).text)
    assert found.silent_fault == fault


def test_old_vllm_counts_no_bonus() -> None:
    for length, fault in ((0.0, "no-acceptance"), (0.2, "little-acceptance"), (1.0, None)):
        log = Vllm("0.8.5").start("RUN")
        for _ in range(6):
            log.say(
                f"SpecDecoding metrics: Draft acceptance rate: {33 * length:.1f}%, Mean acceptance "
                f"length: {length:.2f}, Accepted: {int(100 * length)} tokens, Drafted: 300 tokens, "
                "Per-position acceptance rate: 0.1, 0.0, 0.0"
            )
        assert read(log.text).silent_fault == fault


def test_the_metrics_of_vllm_zero() -> None:
    log = Vllm("0.8.5").start("RUN")
    for _ in range(6):
        log.say(
            "Speculative metrics: Draft acceptance rate: 0.500, System efficiency: 0.600, Number "
            "of speculative tokens: 4, Number of accepted tokens: 100, Number of draft tokens: "
            "200, Number of emitted tokens: 150."
        )
    found = read(log.text)
    assert (found.acceptance_length, found.acceptance_rate) == (3.0, 0.5)


def test_an_acceptance_that_falls() -> None:
    lengths = [2.8 - 0.08 * step for step in range(20)]
    log = Sglang("0.5.9").start("RUN")
    log.say(
        "Warning: Target model's context_length (40960) is greater than the derived context_length "
        "(2048). This may lead to incorrect model outputs or CUDA errors.",
        0,
    )
    found = read(log.serve(lengths).text)
    assert found.serving.is_falling
    assert found.rule == "draft-context-shorter"
    assert found.launch.proven == {"SGLANG_ALLOW_OVERWRITE_LONGER_CONTEXT_LEN": "1"}
    assert not is_falling([2.5, 2.2] * 10, 1.0)
    assert not is_falling(lengths[:12], 1.0)


def test_throughput_counts_only_lines_with_requests() -> None:
    line = b"[2026-01-01 10:00:00] Decode batch, #running-req: %d, gen throughput (token/s): %d.0\n"
    block = b"".join(line % pair for pair in ((0, 0), (2, 100), (4, 300)))
    assert mean_speed(read_speeds(block, 9)) == (200.0, 62.5)
    vllm = b"Engine 000: Avg generation throughput: 80.0 tokens/s, Running: 4 reqs, Waiting: 0 reqs"
    assert mean_speed(read_speeds(vllm, 9)) == (80.0, 20.0)


@pytest.mark.parametrize(
    ("asked", "lines", "said"),
    [
        ({"P2P_LEVEL": "SYS"}, ["Channel 00/2 : 0[0] -> 1[1] via SHM/direct"], "asks for P2P"),
        ({"P2P_LEVEL": "SYS"}, ["Channel 00/2 : 0[0] -> 1[1] via P2P/CUMEM"], None),
        ({"P2P_DISABLE": "1"}, ["Channel 00/2 : 0[0] -> 1[1] via P2P/IPC"], "P2P_DISABLE is 1"),
        ({"SHM_DISABLE": "1"}, ["Channel 00/2 : 0[0] -> 1[1] via SHM/direct"], "shared memory"),
        ({"IB_DISABLE": "0"}, ["Using network Socket"], "no InfiniBand"),
        ({"NVLS_ENABLE": "1"}, ["NVLS multicast support is not available on dev 0"], "SHARP"),
        ({"NVLS_ENABLE": "1"}, ["NVLS multicast support is available on dev 0"], None),
        ({"MAX_NCHANNELS": "16"}, ["32 coll channels, 0 nvls channels, 32 p2p channels"],
         "at most 16 channels were asked for, and 32 are used"),
        ({"MAX_NCHANNELS": "16"}, ["16 coll channels, 0 nvls channels, 32 p2p channels"], None),
        ({"MIN_NCHANNELS": "8"}, ["7 coll channels, 0 nvls channels, 4 p2p"], "at least 8"),
        ({"PROTO": "LL"}, ["AllReduce: 8192 Bytes -> Algo RING proto SIMPLE channel{Lo..Hi}={0}"],
         "NCCL_PROTO is LL, and AllReduce ran with SIMPLE"),
        ({"ALGO": "Ring"}, ["AllReduce: 8192 Bytes -> Algo RING proto LL channel{Lo..Hi}={0..1}"],
         None),
    ],
)  # fmt: skip
def test_what_nccl_did_against_what_was_asked(
    asked: dict[str, str], lines: list[str], said: str | None
) -> None:
    log = Sglang("0.5.9").start("DIST+")
    log.lines += [
        f"{NCCL}NCCL_{name} set by environment to {text}." for name, text in asked.items()
    ]
    log.lines += [NCCL + line for line in lines]
    told = read(log.text).nccl
    assert bool(told.not_as_asked) == bool(said)
    assert said is None or said in told.not_as_asked[0]


def test_a_variable_that_nccl_does_not_mention() -> None:
    text = (
        "+ export NCCL_ALGO=Ring\n+ export NCCL_PROTO=LL\n"
        + Sglang("0.5.9").start("DIST+").text
        + f"{NCCL}NCCL_ALGO set by environment to Ring\n"
    )
    assert read(text).nccl.not_as_asked == (
        "NCCL_PROTO was set in the shell, and NCCL does not say that it read it",
    )


def test_what_nccl_told() -> None:
    log = Sglang("0.5.9").start("DIST+")
    log.lines += [
        f"{NCCL}NCCL version 2.27.5+cuda12.8",
        f"{NCCL}Using network IB",
        f"{NCCL}Channel 00/16 : 0[0] -> 1[1] via P2P/CUMEM",
        f"{NCCL}Connected all rings, use ring PXN 0 GDR 1",
        f"{NCCL}NVLS multicast support is not available on dev 0",
    ]
    assert read(log.text).nccl.told == {
        "version": "2.27.5",
        "network": "IB",
        "channels": {"coll": 16},
        "transports": {"P2P/CUMEM": 1},
        "connected": ["rings"],
        "nvls": False,
    }
