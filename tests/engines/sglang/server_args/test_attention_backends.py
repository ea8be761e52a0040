"""Attention backends: the default on each machine, refusals, and forced pages."""

from __future__ import annotations

from typing import Any

import pytest
from sglang_arguments import (
    AMPERE,
    DEEPSEEK,
    HOPPER,
    LLAMA,
    SM100,
    SM120,
    arguments,
    first_stop,
    stops,
)

from specpreflight.engines.sglang.server_args.machine import Machine

CHAIN = (
    "--speculative-algorithm EAGLE3 --speculative-num-steps 3 --speculative-eagle-topk 1 "
    "--speculative-num-draft-tokens 4"
)


@pytest.mark.parametrize(
    ("release", "target", "machine", "backend"),
    [
        ("0.5.9", LLAMA, HOPPER, "fa3"),
        ("0.5.9", LLAMA, SM100, "trtllm_mha"),
        ("0.5.9", LLAMA, SM120, "flashinfer"),
        ("0.5.9", LLAMA, AMPERE, "flashinfer"),
        ("0.5.9", DEEPSEEK, HOPPER, "fa3"),
        ("0.5.9", DEEPSEEK, SM100, "trtllm_mla"),
        ("0.5.9", DEEPSEEK, SM120, "triton"),
        ("0.5.4", LLAMA, HOPPER, None),
    ],
)
def test_default_backend(
    release: str, target: dict[str, Any], machine: Machine, backend: str | None
) -> None:
    args = arguments(release, CHAIN, target=target, draft=LLAMA, machine=machine)
    assert args.attention_backend == backend


@pytest.mark.parametrize(("topk", "backend"), [(1, "fa3"), (2, "flashinfer")])
def test_a_tree_does_not_get_fa3_by_default(topk: int, backend: str) -> None:
    flags = CHAIN.replace("topk 1", f"topk {topk}")
    assert arguments("0.5.9", flags, draft=LLAMA).attention_backend == backend


@pytest.mark.parametrize(
    ("backend", "given", "page"),
    [
        ("flashmla", 32, 64),
        ("flashmla", 64, 64),
        ("cutlass_mla", 64, 128),
        ("trtllm_mla", 16, 64),
        ("trtllm_mla", 32, 32),
    ],
)
def test_a_backend_forces_its_pages(backend: str, given: int, page: int) -> None:
    flags = f"{CHAIN} --attention-backend {backend} --page-size {given}"
    args = arguments("0.5.9", flags, target=DEEPSEEK, draft=LLAMA, machine=SM100)
    assert args.page_size == page
    forced = [event for event in args.events if event.topic == "cache.page-size-forced"]
    assert bool(forced) is (given != page)


@pytest.mark.parametrize(("machine", "refused"), [(HOPPER, True), (SM100, False)])
def test_trtllm_mla_needs_blackwell(machine: Machine, refused: bool) -> None:
    flags = f"{CHAIN} --attention-backend trtllm_mla"
    args = arguments("0.5.9", flags, target=DEEPSEEK, draft=LLAMA, machine=machine)
    assert ("attention.backend-hardware" in stops(args)) is refused


@pytest.mark.parametrize(("release", "refused"), [("0.4.10.post2", True), ("0.5.1", False)])
def test_trtllm_mla_once_refused_any_speculation(release: str, refused: bool) -> None:
    flags = f"{CHAIN} --attention-backend trtllm_mla"
    args = arguments(release, flags, target=DEEPSEEK, draft=LLAMA, machine=SM100)
    assert ("attention.trtllm-mla-speculative" in stops(args)) is refused


@pytest.mark.parametrize("release", ["0.5.3", "0.5.9", "0.5.23"])
def test_flex_attention_refuses_speculation(release: str) -> None:
    stop = first_stop(
        arguments(release, f"{CHAIN} --attention-backend flex_attention", draft=LLAMA)
    )
    assert stop is not None
    assert stop.engine_message == (
        "Speculative decoding is currently not supported with Flex Attention backend"
    )
    assert not stops(arguments(release, "--attention-backend flex_attention"))


@pytest.mark.parametrize(("topk", "refused"), [(1, False), (2, True)])
def test_trtllm_mha_only_runs_chains(topk: int, refused: bool) -> None:
    flags = CHAIN.replace("topk 1", f"topk {topk}") + " --attention-backend trtllm_mha"
    args = arguments("0.5.9", flags, draft=LLAMA, machine=SM100)
    assert ("attention.trtllm-mha-topk" in stops(args)) is refused
