"""Parallelism, caches, LoRA and the rest of what speculation meets."""

from __future__ import annotations

import pytest
from sglang_arguments import (
    DEEPSEEK,
    HOPPER,
    LLAMA,
    QWEN_NEXT,
    SM100,
    arguments,
    first_stop,
    stops,
    unreadable,
)

from specpreflight.engines.sglang.knowledge import releases
from specpreflight.engines.sglang.server_args.machine import TYPICAL, possible_machines
from specpreflight.engines.sglang.server_args.state import Unknowable
from specpreflight.models.launch import Hardware

CHAIN = (
    "--speculative-algorithm EAGLE3 --speculative-num-steps 3 --speculative-eagle-topk 1 "
    "--speculative-num-draft-tokens 4"
)
TREE = CHAIN.replace("topk 1", "topk 4")


@pytest.mark.parametrize("release", releases())
def test_a_plain_chain_starts_in_every_release(release: str) -> None:
    args = arguments(release, CHAIN, draft=LLAMA)
    assert not stops(args)
    assert args.max_running_requests == 48
    assert args.page_size == 1


@pytest.mark.parametrize(
    ("release", "refused"), [("0.5.9", True), ("0.5.20", True), ("0.5.21", True)]
)
def test_pipeline_parallelism_refuses_eagle3(release: str, refused: bool) -> None:
    args = arguments(release, f"{CHAIN} --pp-size 2", draft=LLAMA)
    assert ("parallelism.pipeline-speculative" in stops(args)) is refused


@pytest.mark.parametrize(
    ("mode", "refused"), [("null", True), ("decode", True), ("prefill", False)]
)
def test_pipeline_parallelism_takes_eagle_on_prefill_servers(mode: str, refused: bool) -> None:
    flags = f"{CHAIN} --pp-size 2 --disaggregation-mode {mode}".replace("EAGLE3", "EAGLE")
    args = arguments("0.5.21", flags, draft=LLAMA)
    assert ("parallelism.pipeline-speculative" in stops(args)) is refused


@pytest.mark.parametrize(("chunk", "refused"), [(127, True), (128, False), (129, True)])
def test_a_prefill_chunk_is_a_whole_number_of_pages(chunk: int, refused: bool) -> None:
    flags = f"{CHAIN} --page-size 64 --chunked-prefill-size {chunk}"
    args = arguments("0.5.9", flags, draft=LLAMA)
    assert ("cache.chunk-pages" in stops(args)) is refused


@pytest.mark.parametrize("flags", ["--page-size 0", "--nnodes 0"])
@pytest.mark.parametrize("release", ["0.4.6.post5", "0.5.9", "0.5.23"])
def test_a_size_of_zero_is_divided_by(release: str, flags: str) -> None:
    stop = first_stop(arguments(release, f"{CHAIN} {flags}", draft=LLAMA))
    assert stop is not None
    assert (stop.topic, stop.exception) == ("arguments.zero-size", "ZeroDivisionError")


def test_dp_attention_divides_the_prefill_chunk() -> None:
    args = arguments("0.5.9", f"{CHAIN} --tp-size 8 --dp-size 4 --enable-dp-attention", draft=LLAMA)
    assert args.chunked_prefill_size == 8192 // 4
    assert args.reasons["chunked_prefill_size"] == "DP attention: 8192 // 4"


@pytest.mark.parametrize(("dp", "refused"), [(2, False), (3, True), (4, False)])
def test_dp_attention_needs_a_divisor_of_tp(dp: int, refused: bool) -> None:
    flags = f"{CHAIN} --tp-size 8 --dp-size {dp} --enable-dp-attention"
    args = arguments("0.5.9", flags, draft=LLAMA)
    assert ("parallelism.dp-size" in stops(args)) is refused


@pytest.mark.parametrize(
    ("release", "refused"), [("0.5.5.post2", False), ("0.5.5.post3", True), ("0.5.19", False)]
)
def test_lora_beside_eagle(release: str, refused: bool) -> None:
    args = arguments(release, f"{CHAIN} --lora-paths a=/x", draft=LLAMA)
    assert ("arguments.lora-speculative" in stops(args)) is refused


@pytest.mark.parametrize(
    ("release", "topic", "radix_off"),
    [
        ("0.5.9", None, True),
        ("0.5.10", "cache.states-speculative", False),
        ("0.5.13", "cache.states-speculative", False),
        ("0.5.14", None, False),
    ],
)
def test_speculation_over_linear_layers(release: str, topic: str | None, radix_off: bool) -> None:
    flags = CHAIN.replace("EAGLE3", "NEXTN")
    args = arguments(release, flags, target=QWEN_NEXT)
    stop = first_stop(args)
    assert (stop.topic if stop else None) == topic
    assert args.disable_radix_cache is radix_off


def test_what_the_flags_alone_decide_is_told_without_a_target() -> None:
    args = arguments("0.5.9", f"{TREE} --page-size 16 --attention-backend triton", target=None)
    assert stops(args) == ["cache.topk-paged"]
    assert ("target config", "it is not at hand") in args.unknown


def test_what_depends_on_a_missing_target_is_unknown() -> None:
    args = arguments("0.5.9", TREE, target=None)
    assert not stops(args)
    with pytest.raises(Unknowable):
        _ = args.attention_backend
    with pytest.raises(Unknowable):
        args.resolved("attention_backend")
    assert args.resolved("speculative_eagle_topk").reason == "--speculative-eagle-topk given"
    assert args.resolved("page_size").reason == "the default where no backend needs another"


def test_a_target_that_cannot_be_read_stops_where_it_is_read() -> None:
    args = arguments(
        "0.5.9", f"{CHAIN} --page-size 64 --chunked-prefill-size 100", target=unreadable()
    )
    assert stops(args)[0] == "config.unreadable"
    assert "cache.chunk-pages" in stops(args)


def test_an_unknown_machine_stands_for_every_kind() -> None:
    assert possible_machines(Hardware()) == TYPICAL
    known = possible_machines(Hardware(capability=(10, 0)))
    assert [machine.is_sm100 for machine in known] == [True]
    assert known[0].memory_mib == SM100.memory_mib
    ampere = possible_machines(Hardware(capability=(8, 0)))
    assert [machine.memory_mib for machine in ampere] == [40960, 81920]


def test_every_event_says_what_it_compares() -> None:
    flags = f"{TREE} --page-size 16 --attention-backend triton"
    stop = first_stop(arguments("0.5.9", flags, draft=LLAMA, machine=HOPPER))
    assert stop is not None
    assert [(value.label, value.value, value.origin.name) for value in stop.values] == [
        ("speculative_eagle_topk", 4, "--speculative-eagle-topk"),
        ("page_size", 16, "--page-size"),
        ("attention_backend", "triton", "--attention-backend"),
    ]
    assert stop.source == "server_args.py:_handle_speculative_decoding"


@pytest.mark.parametrize(
    ("release", "source"),
    [
        ("0.5.2", "server_args.py:__post_init__"),
        ("0.5.12", "server_args.py:_handle_speculative_decoding"),
        ("0.5.13", "arg_groups/speculative_hook.py:handle_speculative_decoding"),
    ],
)
def test_every_event_names_the_function_of_its_release(release: str, source: str) -> None:
    flags = "--speculative-algorithm EAGLE --speculative-num-steps 3"
    stop = first_stop(arguments(release, flags, target=DEEPSEEK))
    assert stop is not None
    assert stop.source == source
