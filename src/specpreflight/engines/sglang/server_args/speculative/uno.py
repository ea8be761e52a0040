"""UNO: the target drafts for itself through a LoRA adapter (0.5.20 and newer).

Restates `arg_groups/speculative_hook.py:_handle_uno`.
"""

from __future__ import annotations

from typing import Final

from specpreflight.engines.sglang.server_args.speculative.common import (
    attention_backends,
    turn_off_mixed_chunk,
    uses_attention_data_parallelism,
)
from specpreflight.engines.sglang.server_args.state import ServerArgs

MAX_VERIFY_NODES: Final = 128
MAX_FRONTIER_SLOTS: Final = 2048
TOPIC: Final = "arguments.uno"


def handle_uno(args: ServerArgs) -> None:
    """Resolve the settings of UNO."""
    _refuse(args, not str(args.device).startswith("cuda"), "UNO only supports CUDA.", "device")
    _refuse(
        args,
        args.speculative_draft_model_path is not None,
        "UNO reuses the target model and does not accept --speculative-draft-model-path.",
        "speculative_draft_model_path",
    )
    _refuse(args, args.uno_lora_path is None, "UNO requires --uno-lora-path.", "uno_lora_path")
    _refuse(
        args,
        bool(args.enable_deterministic_inference),
        "UNO does not support --enable-deterministic-inference because its sampling path does not "
        "use per-request seeds.",
        "enable_deterministic_inference",
    )
    _refuse(
        args,
        bool(args.enable_strict_thinking),
        "UNO does not support --enable-strict-thinking because it requires grammar decoding.",
        "enable_strict_thinking",
    )
    width = args.speculative_num_draft_tokens
    if _refuse(
        args,
        width is None or int(width) < 1,
        "UNO requires --speculative-num-draft-tokens to be a positive integer denoting the linear "
        "width or tree verify width Q.",
        "speculative_num_draft_tokens",
    ):
        return
    topk = 1 if args.speculative_eagle_topk is None else int(args.speculative_eagle_topk)
    if _refuse(
        args,
        topk < 1,
        f"UNO requires --speculative-eagle-topk to be at least 1, got {topk}.",
        "speculative_eagle_topk",
    ):
        return
    if topk > 1:
        _check_tree(args, int(width), topk)
    else:
        args.set("speculative_num_steps", 1, "UNO without a tree takes one step")
        args.set("speculative_eagle_topk", 1, "UNO without a tree")
    _check_surroundings(args)


def _check_tree(args: ServerArgs, width: int, topk: int) -> None:
    """Check the verify width Q against the tree that F = steps + 1 and K = top-k can build."""
    if args.speculative_num_steps is None:
        _refuse(
            args,
            True,
            "UNO tree mode requires --speculative-num-steps so its draft width F can be derived as "
            "speculative_num_steps + 1.",
            "speculative_num_steps",
        )
        return
    steps = int(args.speculative_num_steps)
    if _refuse(
        args,
        steps < 1,
        f"UNO tree mode requires --speculative-num-steps to be positive, got {steps}.",
        "speculative_num_steps",
    ):
        return
    fields = ("speculative_num_draft_tokens", "speculative_num_steps", "speculative_eagle_topk")
    depth, slots = steps + 1, width * topk
    capacity = sum(topk**level for level in range(steps + 1))
    parents = topk * max(steps - 1, 0) + 1
    too_wide = width > capacity
    for fails, said in (
        (width < depth, f"UNO tree mode requires Q >= F; got Q={width}, F={depth}."),
        (
            width > MAX_VERIFY_NODES,
            f"UNO tree mode currently supports at most Q=128 verify nodes, got Q={width}.",
        ),
        (
            slots > MAX_FRONTIER_SLOTS,
            f"UNO tree mode currently supports Q*K <= 2048; got Q*K={width}*{topk}={slots}.",
        ),
        (
            too_wide,
            "UNO tree mode cannot build the requested Q from F and K: "
            f"Q={width} exceeds capacity={capacity} for F={depth}, K={topk}.",
        ),
        (
            not too_wide and width - 1 > parents,
            "UNO tree mode cannot represent the requested Q in EAGLE's parent-list ABI: "
            f"Q-1={width - 1} exceeds K*(F-2)+1={parents} for F={depth}, K={topk}.",
        ),
        (bool(args.enable_pdmux), "UNO tree mode does not yet support PDMux."),
        (
            bool(args.enable_two_batch_overlap),
            "UNO tree mode does not yet support two-batch overlap.",
        ),
        (
            (args.speculative_accept_threshold_single, args.speculative_accept_threshold_acc)
            != (1.0, 1.0),
            "UNO tree mode reuses EAGLE target-only sampling and requires both speculative accept "
            "thresholds to be 1.0.",
        ),
    ):
        _refuse(args, fails, said, *fields)


def _check_surroundings(args: ServerArgs) -> None:
    _refuse(
        args,
        (args.tp_size, args.pp_size) != (1, 1),
        "UNO requires TP=PP=1.",
        "tp_size",
        "pp_size",
    )
    _refuse(
        args,
        uses_attention_data_parallelism(args) or args.attn_cp_size != 1,
        "UNO does not support DP attention or context parallelism.",
        "attn_cp_size",
    )
    _refuse(
        args,
        bool(args.enable_lora or args.lora_paths),
        "UNO does not support public Multi-LoRA serving.",
        "enable_lora",
    )
    _refuse(
        args,
        bool(args.speculative_use_rejection_sampling),
        "UNO manages its own stochastic verification and does not use "
        "--speculative-use-rejection-sampling.",
        "speculative_use_rejection_sampling",
    )
    turn_off_mixed_chunk(args, "Mixed chunked prefill is disabled for UNO speculative decoding.")
    prefill, decode = attention_backends(args)
    _refuse(
        args,
        (prefill, decode) != ("fa3", "fa3"),
        "UNO requires FA3 for both prefill and decode attention; got "
        f"prefill={prefill!r}, decode={decode!r}.",
        "attention_backend",
    )


def _refuse(args: ServerArgs, fails: bool, said: str, *fields: str) -> bool:
    """Record the engine's refusal where it applies; return whether it does."""
    if fails:
        message = said.rstrip(".")
        args.stop(TOPIC, message if len(message) <= 100 else message[:99] + "…", said, *fields)
    return fails
