"""LoRA adapters beside speculation.

Restates `server_args.py:check_server_args` (to 0.4.9.post3), `check_lora_server_args` (0.4.9.post4
to 0.5.18) and `arg_groups/lora_hook.py` (0.5.19 and newer).
"""

from __future__ import annotations

from specpreflight.engines.sglang.server_args.state import ServerArgs

#: Algorithms that run with LoRA from 0.5.19 on, beside NGRAM.
LORA_ALGORITHMS = ("EAGLE", "EAGLE3", "DFLASH", "DSPARK")


def check_lora(args: ServerArgs) -> None:
    """Check the adapters' settings against each other and against speculation."""
    if not args.since("0.5.1"):
        _check_radix_cache(args)
    else:
        args.require(
            args.max_loras_per_batch > 0,
            "arguments.lora",
            "`--max-loras-per-batch` must be positive",
            "max_loras_per_batch must be positive",
            "max_loras_per_batch",
        )
    if args.lora_paths and args.has("enable_lora") and args.enable_lora is None:
        args.set("enable_lora", True, "`--lora-paths` is given")
    if not args.enable_lora:
        return
    if args.since("0.5.19"):
        _check_algorithm(args)
    elif args.since("0.5.5.post3") and args.speculative_algorithm not in (None, "NGRAM"):
        args.stop(
            "arguments.lora-speculative",
            f"LoRA does not run with {args.speculative_algorithm} in this release",
            "Currently LoRA is only compatible with NGRAM speculative decoding.",
            "enable_lora",
            "speculative_algorithm",
        )
    args.require(
        bool(args.lora_paths or (args.max_lora_rank and args.lora_target_modules)),
        "arguments.lora",
        "LoRA without `--lora-paths` needs `--max-lora-rank` and `--lora-target-modules`",
        "When no initial --lora-paths is provided, you need to specify both --max-lora-rank and "
        "--lora-target-modules for LoRA initialization.",
        "lora_paths",
        "max_lora_rank",
        "lora_target_modules",
    )


def _check_radix_cache(args: ServerArgs) -> None:
    works = args.max_loras_per_batch > 0 and (args.lora_paths is None or args.disable_radix_cache)
    what = "radix attention" if args.since("0.4.7") else "cuda graph and radix attention"
    said = f"compatibility of lora and {what} is in progress"
    args.require(
        bool(works),
        "arguments.lora",
        "LoRA needs `--disable-radix-cache` in this release",
        said,
        "lora_paths",
        "disable_radix_cache",
    )


def _check_algorithm(args: ServerArgs) -> None:
    algorithm = args.speculative_algorithm
    if algorithm in (None, "NGRAM"):
        return
    if algorithm not in LORA_ALGORITHMS:
        promoted = (
            " (NEXTN/EAGLE with a Gemma4 assistant draft is automatically promoted to "
            "FROZEN_KV_MTP, which does not support LoRA)"
            if algorithm == "FROZEN_KV_MTP"
            else ""
        )
        args.stop(
            "arguments.lora-speculative",
            f"LoRA does not run with {algorithm} in this release",
            "LoRA is only compatible with NGRAM, EAGLE, NEXTN, EAGLE3, DFLASH, or DSPARK "
            f"speculative decoding, not {algorithm}{promoted}.",
            "enable_lora",
            "speculative_algorithm",
        )
        return
    ragged = args.environment.get("SGLANG_RAGGED_VERIFY_MODE", "static")
    runners = (args.moe_runner_backend, args.speculative_moe_runner_backend)
    for fails, reason in (
        (
            algorithm == "DSPARK" and ragged != "static",
            f"does not support SGLANG_RAGGED_VERIFY_MODE={ragged!r}: the per-request verify "
            "lengths it schedules break the uniform-width LoRA segment layout",
        ),
        (
            bool(args.speculative_adaptive),
            "does not support --speculative-adaptive: the draft is built from a static ServerArgs "
            "snapshot, and the runtime-state swap does not rebuild LoRA cuda-graph metadata",
        ),
        (
            "experimental_sgl_trtllm" in runners,
            "does not support the experimental_sgl_trtllm MoE runner: its TopK reads the LoRA "
            "config per forward, which the draft resolves against the target's after its own "
            "publish ended",
        ),
        (
            args.variable_is_true("SGLANG_ENABLE_OVERLAP_PLAN_STREAM"),
            "does not support SGLANG_ENABLE_OVERLAP_PLAN_STREAM=1: LoRA batch preparation would "
            "run on the plan stream, unordered against in-flight forwards",
        ),
    ):
        if fails:
            args.stop(
                "arguments.lora-speculative",
                f"LoRA with speculation {reason.split(':')[0]}",
                f"LoRA with EAGLE/NEXTN/EAGLE3 speculative decoding {reason}.",
                "enable_lora",
                "speculative_algorithm",
            )
            return
