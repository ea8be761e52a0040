"""Names and aliases, NGRAM, DFLASH, DSPARK, UNO, and adaptive steps."""

from __future__ import annotations

from typing import Any

import pytest
from sglang_arguments import (
    DEEPSEEK,
    HOPPER,
    LLAMA,
    SM100,
    arguments,
    first_stop,
    stops,
    unreadable,
)

from specpreflight.models.finding import Outcome, Stage

BLOCK_DRAFT: dict[str, Any] = {**LLAMA, "num_hidden_layers": 5, "block_size": 8}
GEMMA4_ASSISTANT: dict[str, Any] = {"architectures": ["Gemma4AssistantForCausalLM"]}


@pytest.mark.parametrize(
    ("name", "resolved"), [("eagle3", "EAGLE3"), ("NEXTN", "EAGLE"), ("nextn", "EAGLE")]
)
def test_names_are_taken_in_any_case_since_the_hook_moved(name: str, resolved: str) -> None:
    flags = (
        f"--speculative-algorithm {name} --speculative-num-steps 3 --speculative-eagle-topk 1 "
        "--speculative-num-draft-tokens 4"
    )
    assert arguments("0.5.13", flags, draft=LLAMA).speculative_algorithm == resolved


def test_an_unknown_name_stops_the_launch() -> None:
    stop = first_stop(arguments("0.5.13", "--speculative-algorithm EAGLE4", draft=LLAMA))
    assert stop is not None
    assert stop.topic == "arguments.unknown-algorithm"


@pytest.mark.parametrize(
    ("release", "algorithm", "resolved"),
    [
        ("0.5.12", "NEXTN", "FROZEN_KV_MTP"),
        ("0.5.23", "EAGLE", "FROZEN_KV_MTP"),
        ("0.5.11", "NEXTN", "EAGLE"),
    ],
)
def test_a_draft_that_shares_the_cache_has_an_algorithm_of_its_own(
    release: str, algorithm: str, resolved: str
) -> None:
    args = arguments(release, f"--speculative-algorithm {algorithm}", draft=GEMMA4_ASSISTANT)
    assert args.speculative_algorithm == resolved


def test_the_hook_reads_the_draft_before_anything_else_of_it() -> None:
    broken = unreadable(Stage.DRAFT_CONFIG)
    flags = "--speculative-algorithm EAGLE3 --speculative-eagle-topk 4"
    assert stops(arguments("0.5.12", flags, draft=broken))[0] == "config.unreadable"
    assert "config.unreadable" not in stops(arguments("0.5.11", flags, draft=broken))


@pytest.mark.parametrize(
    ("release", "tokens"), [("0.5.9", 12), ("0.5.10", 12), ("0.5.23", 12), ("0.5.4", 12)]
)
def test_ngram_fills_its_tree(release: str, tokens: int) -> None:
    args = arguments(release, "--speculative-algorithm NGRAM --page-size 1")
    assert args.speculative_num_draft_tokens == tokens
    assert args.speculative_eagle_topk == args.speculative_ngram_max_bfs_breadth
    assert not stops(args)


@pytest.mark.parametrize(("page", "refused"), [(1, False), (2, True), (64, True)])
def test_ngram_needs_flashinfer_for_pages(page: int, refused: bool) -> None:
    flags = f"--speculative-algorithm NGRAM --attention-backend triton --page-size {page}"
    assert ("cache.topk-paged" in stops(arguments("0.5.9", flags))) is refused


def test_ngram_refuses_attention_data_parallelism() -> None:
    flags = "--speculative-algorithm NGRAM --tp-size 4 --dp-size 2 --enable-dp-attention"
    assert "parallelism.ngram-dp-attention" in stops(arguments("0.5.9", flags))


@pytest.mark.parametrize(
    ("draft", "tokens"),
    [
        (BLOCK_DRAFT, 8),
        ({**BLOCK_DRAFT, "block_size": None, "dflash_config": {"block_size": 4}}, 4),
        ({**BLOCK_DRAFT, "block_size": 0}, 16),
        (unreadable(Stage.DRAFT_CONFIG), 16),
    ],
)
def test_dflash_takes_the_block_size_of_its_draft(draft: Any, tokens: int) -> None:
    args = arguments("0.5.11", "--speculative-algorithm DFLASH", draft=draft)
    assert args.speculative_num_draft_tokens == tokens
    assert (args.speculative_num_steps, args.speculative_eagle_topk) == (1, 1)


@pytest.mark.parametrize(("tokens", "refused"), [(7, True), (8, False), (9, True)])
def test_dflash_wants_block_size_and_draft_tokens_equal(tokens: int, refused: bool) -> None:
    flags = (
        "--speculative-algorithm DFLASH --speculative-dflash-block-size 8 "
        f"--speculative-num-draft-tokens {tokens}"
    )
    args = arguments("0.5.11", flags, draft=BLOCK_DRAFT)
    assert ("arguments.block-size" in stops(args)) is refused


def test_dflash_without_a_draft_stops() -> None:
    stop = first_stop(arguments("0.5.11", "--speculative-algorithm DFLASH"))
    assert stop is not None
    assert stop.topic == "arguments.draft-path-missing"


@pytest.mark.parametrize(("steps", "topk", "kept"), [(3, 1, True), (4, 1, False), (3, 4, False)])
def test_adaptive_steps(steps: int, topk: int, kept: bool) -> None:
    flags = (
        "--speculative-algorithm EAGLE3 --speculative-adaptive "
        f"--speculative-num-steps {steps} --speculative-eagle-topk {topk} "
        "--speculative-num-draft-tokens 8"
    )
    args = arguments("0.5.14", flags, draft=LLAMA)
    assert (bool(args.speculative_adaptive) and not stops(args)) is kept
    told = [event for event in args.events if event.outcome is Outcome.ADJUSTS]
    assert any(event.topic == "arguments.adaptive-off" for event in told) is (topk != 1)


@pytest.mark.parametrize(("topk", "refused"), [(1, False), (2, True)])
def test_rejection_sampling_needs_a_chain(topk: int, refused: bool) -> None:
    flags = (
        "--speculative-algorithm EAGLE3 --speculative-use-rejection-sampling "
        f"--speculative-num-steps 3 --speculative-eagle-topk {topk} "
        "--speculative-num-draft-tokens 4"
    )
    args = arguments("0.5.14", flags, draft=LLAMA)
    assert ("arguments.rejection-sampling" in stops(args)) is refused


def test_uno_needs_fa3() -> None:
    flags = "--speculative-algorithm UNO --attention-backend triton"
    assert "arguments.uno" in stops(arguments("0.5.20", flags, draft=LLAMA))


@pytest.mark.parametrize(
    ("release", "machine", "runner"),
    [("0.5.9", SM100, "auto"), ("0.5.12", SM100, "flashinfer_trtllm"), ("0.5.9", HOPPER, "auto")],
)
def test_the_draft_avoids_moe_runners_that_it_cannot_use(
    release: str, machine: Any, runner: str
) -> None:
    flags = "--speculative-algorithm NEXTN"
    target = {**DEEPSEEK, "quantization_config": {"quant_method": "fp8"}}
    args = arguments(release, flags, target=target, machine=machine)
    assert args.speculative_moe_runner_backend == runner
