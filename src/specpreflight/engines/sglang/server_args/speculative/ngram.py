"""NGRAM: no draft model; the tree's breadth is the top-k.

Restates `server_args.py:_handle_speculative_decoding` (0.5.3 to 0.5.12) and
`arg_groups/speculative_hook.py:_handle_ngram` (0.5.13 and newer).
"""

from __future__ import annotations

from specpreflight.engines.sglang.server_args.speculative.common import (
    keep_cpu_synchronous,
    limit_running_requests,
    turn_off_overlap,
    uses_attention_data_parallelism,
)
from specpreflight.engines.sglang.server_args.state import ServerArgs

#: Draft tokens from 0.5.10 on, when none are given.
DRAFT_TOKENS = 12


def handle_ngram(args: ServerArgs) -> None:
    """Resolve the settings of NGRAM."""
    _check_device(args)
    if args.since("0.5.14"):
        keep_cpu_synchronous(args)
    limit_running_requests(args)
    if not args.since("0.5.14"):
        turn_off_overlap(
            args,
            "NGRAM has no overlap scheduler in this release",
            "The overlap scheduler and mixed chunked prefill are disabled because of using ngram "
            "speculative decoding.",
        )
    if args.enable_mixed_chunk:
        args.set("enable_mixed_chunk", False, "NGRAM does not support it")
        args.tell(
            "arguments.mixed-chunk-off",
            "mixed chunked prefill is turned off for NGRAM",
            "The mixed chunked prefill are disabled because of using ngram speculative decoding.",
            "enable_mixed_chunk",
        )
    _fill_parameters(args)
    if args.since("0.5.11") and args.speculative_ngram_external_corpus_path is not None:
        _check_external_corpus(args)
    topk, page_size = args.speculative_eagle_topk, args.page_size
    allowed = args.release.probe("arguments.ngram-topk-with-pages")
    paged_tree = topk > 1 and page_size > 1
    if paged_tree and isinstance(allowed, tuple) and args.attention_backend not in allowed:
        args.stop(
            "cache.topk-paged",
            f"NGRAM's breadth {topk} with page size {page_size} needs flashinfer, "
            f"got {args.attention_backend}",
            f"speculative_eagle_topk({topk}) > 1 with page_size({page_size}) > 1 is unstable and "
            "produces incorrect results for paged attention backends. This combination is only "
            "supported for the 'flashinfer' backend.",
            "speculative_ngram_max_bfs_breadth",
            "page_size",
            "attention_backend",
        )
    if uses_attention_data_parallelism(args):
        args.stop(
            "parallelism.ngram-dp-attention",
            "NGRAM does not support DP attention",
            "Currently ngram speculative decoding does not support dp attention.",
            "enable_dp_attention",
        )


def _check_device(args: ServerArgs) -> None:
    device = str(args.device)
    if args.since("0.5.21"):
        supported = device in ("cuda", "cpu", "xpu")
        said = "Ngram speculative decoding only supports CUDA, CPU, or XPU devices."
    elif args.since("0.5.16"):
        supported = device in ("cuda", "cpu")
        said = "Ngram speculative decoding only supports CUDA or CPU devices."
    else:
        supported = device.startswith("cuda")
        said = "Ngram speculative decoding only supports CUDA device."
    if not supported:
        args.stop(
            "arguments.algorithm-device",
            f"NGRAM does not run on device {device} in this release",
            said,
            "device",
        )


def _fill_parameters(args: ServerArgs) -> None:
    breadth = args.speculative_ngram_max_bfs_breadth
    asked = args.speculative_eagle_topk
    args.set("speculative_eagle_topk", breadth, "NGRAM's `--speculative-ngram-max-bfs-breadth`")
    if asked not in (None, breadth):
        args.tell(
            "arguments.ngram-topk",
            f"top-k {asked} is replaced by the n-gram tree's breadth, {breadth}",
            None,
            "speculative_eagle_topk",
            "speculative_ngram_max_bfs_breadth",
        )
    if args.speculative_num_draft_tokens is None:
        if args.since("0.5.10"):
            tokens, why = DRAFT_TOKENS, "NGRAM's default"
        else:
            tokens = args.speculative_ngram_max_match_window_size
            why = "NGRAM's `--speculative-ngram-max-match-window-size`"
        args.set("speculative_num_draft_tokens", tokens, why)
    if args.since("0.5.14") and args.speculative_num_steps is None and breadth:
        steps = args.speculative_num_draft_tokens // breadth
        args.set("speculative_num_steps", steps, "draft tokens // breadth")


def _check_external_corpus(args: ServerArgs) -> None:
    prefix, given = "--speculative-ngram-external-", "--speculative-ngram-external-corpus-path"
    for field, name in (
        ("speculative_ngram_external_sam_budget", "sam-budget"),
        ("speculative_ngram_external_corpus_max_tokens", "corpus-max-tokens"),
    ):
        if getattr(args, field) <= 0:
            args.stop(
                "arguments.ngram-corpus",
                f"`{prefix}{name}` must be positive with an external corpus",
                f"{prefix}{name} must be positive when {given} is set.",
                field,
            )
    budget, tokens = (
        args.speculative_ngram_external_sam_budget,
        args.speculative_num_draft_tokens,
    )
    if budget > tokens - 1:
        args.stop(
            "arguments.ngram-corpus",
            f"the external corpus' budget {budget} is above draft tokens - 1 = {tokens - 1}",
            "speculative_ngram_external_sam_budget must be less than or equal to "
            f"speculative_num_draft_tokens - 1 ({tokens - 1}).",
            "speculative_ngram_external_sam_budget",
            "speculative_num_draft_tokens",
        )
