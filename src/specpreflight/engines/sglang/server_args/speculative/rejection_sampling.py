"""`--speculative-use-rejection-sampling`: exact verification for EAGLE (0.5.14 and newer).

Restates `arg_groups/speculative_hook.py:_handle_eagle_family`.
"""

from __future__ import annotations

from specpreflight.engines.sglang.server_args.state import ServerArgs


def check_rejection_sampling(args: ServerArgs) -> None:
    """Check what `--speculative-use-rejection-sampling` needs (0.5.14 and newer)."""
    if args.since("0.5.21") and _is_rejection_sampling_implied(args):
        args.set("speculative_use_rejection_sampling", True, "ROCm needs it for EAGLE")
    if not args.speculative_use_rejection_sampling:
        return
    topic, flag = "arguments.rejection-sampling", "--speculative-use-rejection-sampling"
    if args.speculative_algorithm not in ("EAGLE", "EAGLE3"):
        args.stop(
            topic,
            f"rejection sampling needs EAGLE or EAGLE3, got {args.speculative_algorithm}",
            f"{flag} is only supported for EAGLE / EAGLE3 / NEXTN, not "
            f"speculative_algorithm={args.speculative_algorithm}.",
            "speculative_use_rejection_sampling",
            "speculative_algorithm",
            exception="NotImplementedError",
        )
    if args.speculative_eagle_topk != 1:
        args.stop(
            topic,
            f"rejection sampling needs top-k 1, got {args.speculative_eagle_topk}",
            f"{flag} requires --speculative-eagle-topk=1.",
            "speculative_use_rejection_sampling",
            "speculative_eagle_topk",
        )
    thresholds = (args.speculative_accept_threshold_single, args.speculative_accept_threshold_acc)
    if thresholds != (1.0, 1.0):
        args.stop(
            topic,
            "rejection sampling needs both accept thresholds at 1.0",
            f"{flag} is incompatible with --speculative-accept-threshold-single / "
            "--speculative-accept-threshold-acc; rejection sampling ignores the accept thresholds.",
            "speculative_accept_threshold_single",
            "speculative_accept_threshold_acc",
        )
    if args.enable_deterministic_inference and not args.since("0.5.23"):
        args.stop(
            topic,
            "rejection sampling is not batch-invariant: not with deterministic inference",
            f"{flag} is incompatible with --enable-deterministic-inference; the sampling kernel "
            "draws coins from the global RNG and is not batch-invariant.",
            "speculative_use_rejection_sampling",
            "enable_deterministic_inference",
        )
    if args.enable_multi_layer_eagle and not args.since("0.5.16"):
        args.stop(
            topic,
            "rejection sampling does not support multi-layer EAGLE",
            f"{flag} is not supported with multi-layer EAGLE (--enable-multi-layer-eagle).",
            "speculative_use_rejection_sampling",
            "enable_multi_layer_eagle",
            exception="NotImplementedError",
        )


def _is_rejection_sampling_implied(args: ServerArgs) -> bool:
    return bool(
        args.machine.is_rocm
        and not args.speculative_use_rejection_sampling
        and args.speculative_algorithm == "EAGLE"
        and args.speculative_token_map is None
        and args.speculative_eagle_topk == 1
        and args.speculative_accept_threshold_single == 1.0
        and args.speculative_accept_threshold_acc == 1.0
        and not args.enable_deterministic_inference
    )
