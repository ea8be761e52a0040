"""EAGLE, EAGLE-3, NEXTN, STANDALONE: what becomes of steps, top-k, draft tokens and pages."""

from __future__ import annotations

import pytest
from sglang_arguments import DEEPSEEK, LLAMA, SM100, arguments, first_stop, stops

from specpreflight.models.finding import Outcome

EAGLE3 = "--speculative-algorithm EAGLE3"
RELEASES = ("0.4.6.post5", "0.4.10.post2", "0.5.2", "0.5.9", "0.5.12", "0.5.13", "0.5.23")


def chain(steps: int, topk: int, tokens: int) -> str:
    return (
        f"{EAGLE3} --speculative-num-steps {steps} --speculative-eagle-topk {topk} "
        f"--speculative-num-draft-tokens {tokens}"
    )


@pytest.mark.parametrize("release", RELEASES)
@pytest.mark.parametrize(("tokens", "told"), [(3, True), (4, False), (5, True)])
def test_with_topk_one_draft_tokens_are_steps_plus_one(
    release: str, tokens: int, told: bool
) -> None:
    args = arguments(release, chain(3, 1, tokens), draft=LLAMA)
    assert args.speculative_num_draft_tokens == 4
    topics = [event.topic for event in args.events if event.outcome is Outcome.ADJUSTS]
    assert ("arguments.draft-tokens-adjusted" in topics) is told
    if told:
        assert args.reasons["speculative_num_draft_tokens"] == "steps+1 because top-k is 1"


@pytest.mark.parametrize("release", RELEASES)
@pytest.mark.parametrize(
    ("target", "expected"), [(LLAMA, (5, 4, 8)), (DEEPSEEK, (3, 1, 4))], ids=["llama", "deepseek"]
)
def test_nothing_given_takes_the_targets_own_parameters(
    release: str, target: dict[str, object], expected: tuple[int, int, int]
) -> None:
    algorithm = "EAGLE" if target is DEEPSEEK else "EAGLE3"
    args = arguments(release, f"--speculative-algorithm {algorithm}", target=target, draft=LLAMA)
    chosen = (
        args.speculative_num_steps,
        args.speculative_eagle_topk,
        args.speculative_num_draft_tokens,
    )
    if release == "0.4.6.post5" and target is DEEPSEEK:
        expected = (5, 4, 8)
    assert chosen == expected


@pytest.mark.parametrize("flag", ["--speculative-eagle-topk 4", "--speculative-num-draft-tokens 8"])
@pytest.mark.parametrize("release", RELEASES)
def test_parameters_without_steps_stop_the_launch(release: str, flag: str) -> None:
    stop = first_stop(arguments(release, f"{EAGLE3} {flag}", draft=LLAMA))
    assert stop is not None
    assert (stop.topic, stop.exception) == ("arguments.parameters-without-steps", "AssertionError")


@pytest.mark.parametrize(
    ("release", "topic"),
    [("0.5.1", None), ("0.5.2", "arguments.steps-without-topk")],
)
def test_steps_without_topk_stop_from_the_release_that_compares_them(
    release: str, topic: str | None
) -> None:
    stop = first_stop(arguments(release, f"{EAGLE3} --speculative-num-steps 3", draft=LLAMA))
    assert (stop.topic if stop else None) == topic


@pytest.mark.parametrize(
    ("release", "backend", "allowed"),
    [
        ("0.5.1", "triton", True),
        ("0.5.2", "triton", False),
        ("0.5.2", "flashinfer", True),
        ("0.5.5.post3", "fa3", False),
        ("0.5.6", "fa3", True),
        ("0.5.12", "triton", False),
        ("0.5.13", "triton", True),
    ],
)
def test_a_tree_over_pages_needs_an_audited_backend(
    release: str, backend: str, allowed: bool
) -> None:
    flags = f"{chain(3, 4, 8)} --page-size 16 --attention-backend {backend}"
    topics = stops(arguments(release, flags, draft=LLAMA))
    assert ("cache.topk-paged" not in topics) is allowed


def test_a_tree_without_pages_is_never_refused() -> None:
    flags = f"{chain(3, 4, 8)} --page-size 1 --attention-backend triton"
    for release in RELEASES:
        assert not stops(arguments(release, flags, draft=LLAMA))


@pytest.mark.parametrize("release", ["0.5.6.post1", "0.5.6.post2"])
def test_automatic_parameters_on_blackwell_met_a_backend_without_trees(release: str) -> None:
    stop = first_stop(arguments(release, EAGLE3, draft=LLAMA, machine=SM100))
    assert stop is not None
    assert stop.topic == "attention.trtllm-mha-topk"
    assert not stops(arguments(release, EAGLE3, draft=LLAMA))


def test_a_target_with_mtp_layers_is_its_own_draft() -> None:
    args = arguments("0.5.9", "--speculative-algorithm NEXTN", target=DEEPSEEK)
    assert args.speculative_algorithm == "EAGLE"
    assert args.speculative_draft_model_path == "target"
    assert "draft layers" in args.reasons["speculative_draft_model_path"]


@pytest.mark.parametrize(("release", "revision"), [("0.5.5.post3", None), ("0.5.6", "main")])
def test_a_given_draft_gets_a_revision(release: str, revision: str | None) -> None:
    args = arguments(release, chain(3, 1, 4), draft=LLAMA)
    assert args.speculative_draft_model_revision == revision


@pytest.mark.parametrize(
    ("release", "exception"),
    [("0.5.2", "AssertionError"), ("0.5.3", "ValueError"), ("0.5.23", "ValueError")],
)
def test_standalone_refuses_attention_data_parallelism(release: str, exception: str) -> None:
    flags = (
        "--speculative-algorithm STANDALONE --tp-size 4 --dp-size 2 --enable-dp-attention "
        "--speculative-num-steps 3 --speculative-eagle-topk 1 --speculative-num-draft-tokens 4"
    )
    stop = first_stop(arguments(release, flags, draft=LLAMA))
    assert stop is not None
    assert (stop.topic, stop.exception) == ("parallelism.standalone-dp-attention", exception)


@pytest.mark.parametrize(
    ("release", "environment", "overlap"),
    [
        ("0.5.9", {}, False),
        ("0.5.9", {"SGLANG_ENABLE_SPEC_V2": "1"}, True),
        ("0.5.11", {}, True),
        ("0.5.11", {"SGLANG_ENABLE_SPEC_V2": "0"}, False),
        ("0.5.23", {"SGLANG_ENABLE_SPEC_V2": "0"}, True),
    ],
)
def test_the_overlap_scheduler_follows_the_variable_of_its_time(
    release: str, environment: dict[str, str], overlap: bool
) -> None:
    args = arguments(release, chain(3, 1, 4), draft=LLAMA, environment=environment)
    assert (not args.disable_overlap_schedule) is overlap


@pytest.mark.parametrize(
    ("flags", "expected"),
    [("", 48), ("--max-running-requests 47", 47), ("--max-running-requests 256", 256)],
)
def test_running_requests_are_limited_unless_asked_for(flags: str, expected: int) -> None:
    args = arguments("0.5.9", f"{chain(3, 1, 4)} {flags}", draft=LLAMA)
    assert args.max_running_requests == expected


@pytest.mark.parametrize(
    ("release", "algorithm", "backend", "expected"),
    [
        ("0.4.9.post2", EAGLE3, "triton", "triton"),
        ("0.4.9.post3", EAGLE3, "triton", "fa3"),
        ("0.4.9.post3", EAGLE3, "fa3", "fa3"),
        ("0.4.9.post3", "", "triton", "triton"),
        ("0.4.9.post4", EAGLE3, "triton", "triton"),
    ],
)
def test_one_release_moves_llama4_to_fa3(
    release: str, algorithm: str, backend: str, expected: str
) -> None:
    llama4 = {"architectures": ["Llama4ForConditionalGeneration"], "num_hidden_layers": 48}
    args = arguments(
        release, f"{algorithm} --attention-backend {backend}", target=llama4, draft=LLAMA
    )
    assert args.attention_backend == expected
    told = [event.topic for event in args.events if event.topic == "attention.llama4-fa3"]
    assert bool(told) is (backend != expected)
    assert ("attention.model-backend" in stops(args)) is (release == "0.4.9.post4")
