"""Targets that mix attention with linear layers or Mamba: their states and the radix cache.

Restates `server_args.py:_handle_model_specific_adjustments` (0.5.5.post2 to 0.5.8),
`_handle_mamba_radix_cache` (0.5.9 to 0.5.18) with `_mamba_radix_cache_resolution` of
`arg_groups/overrides.py` (0.5.15 and newer), and `arg_groups/mamba_hook.py` (0.5.19 and newer).
"""

from __future__ import annotations

from typing import Final

from specpreflight.engines.sglang.server_args.default_backend import default_backend
from specpreflight.engines.sglang.server_args.state import ServerArgs
from specpreflight.engines.sglang.server_args.target_models.common import (
    choose_backend,
    is_backend_unset,
)
from specpreflight.engines.sglang.server_args.target_models.hybrid_targets import Hybrid

FLA_CHUNK_SIZE: Final = 64


#: Targets whose backend on SM100 is trtllm_mha where the general default says so (0.5.10, newer).
_QWEN_LIKE: Final = (
    "Qwen3NextForCausalLM",
    "Qwen3_5ForConditionalGeneration",
    "Qwen3_5MoeForConditionalGeneration",
    "InternS2PreviewForConditionalGeneration",
    "InternS2MobiusForConditionalGeneration",
    "Qwen4ExpForConditionalGeneration",
)


def handle_hybrid(args: ServerArgs, hybrid: Hybrid) -> None:
    """Choose the attention backend on SM100, and settle the radix cache with the states."""
    if args.since("0.5.14"):
        _choose_on_sm100(args, hybrid)
        _resolve_strategy(args, hybrid)
    elif args.since("0.5.9"):
        _choose_on_sm100(args, hybrid)
        _handle_radix_cache(args, hybrid)
    else:
        _handle_before_strategies(args, hybrid)
    lfm = args.architecture.startswith("Lfm2")
    if hybrid.without_triton and args.since("0.5.7") and (lfm or not args.since("0.5.19")):
        args.require(
            args.attention_backend != "triton",
            "attention.model-backend",
            f"{args.architecture} does not run with triton attention",
            f"{args.architecture} does not support triton attention backend, as the first layer "
            "might not be an attention layer"
            if lfm
            else f"{args.architecture} does not support triton attention backend,as the first "
            "layer might not be an attention layer",
            "attention_backend",
        )


def refuse_states(args: ServerArgs) -> None:
    """Refuse a buffer for states that the target does not have (0.5.21 and newer)."""
    if not _has_extra_buffer(args) or args.architecture.startswith("Inkling"):
        return
    strategy = args.mamba_radix_cache_strategy
    args.stop(
        "cache.states",
        f"`--mamba-radix-cache-strategy` {strategy} needs a target with linear layers",
        f"--mamba-radix-cache-strategy {strategy} needs mamba state, got {args.architecture}.",
        "mamba_radix_cache_strategy",
    )


def _choose_on_sm100(args: ServerArgs, hybrid: Hybrid) -> None:
    if args.since("0.5.19") and args.architecture.startswith("NemotronH"):
        _choose_for_nemotron(args)
        return
    if not args.machine.is_sm100 or args.attention_backend is not None or hybrid.sm100 is None:
        return
    backend = hybrid.sm100
    if args.since("0.5.10") and args.architecture in _QWEN_LIKE:
        general, _ = default_backend(args)
        blocked = (
            not _has_extra_buffer(args)
            and not args.disable_radix_cache
            and args.speculative_algorithm is None
        )
        if general == "trtllm_mha" and not blocked:
            backend = general
    if args.architecture == "GraniteMoeHybridForCausalLM" and args.since("0.5.13"):
        backend = "flashinfer"
    choose_backend(args, backend, f"the default for {args.architecture} on SM100")
    if args.since("0.5.14") and args.architecture in _QWEN_LIKE:
        args.set("page_size", 64 if backend == "trtllm_mha" else 1, f"{backend} with linear layers")


def _choose_for_nemotron(args: ServerArgs) -> None:
    """Choose Nemotron-H's backends on Blackwell, for itself and its draft (0.5.19 and newer)."""
    if not args.machine.is_blackwell or not is_backend_unset(args):
        return
    if args.speculative_algorithm is None:
        if args.machine.is_sm100:
            choose_backend(args, "trtllm_mha", "the default for Nemotron-H on SM100")
        return
    chain = args.machine.is_sm100 and args.speculative_eagle_topk in (None, 1)
    algorithms = ("EAGLE", "NEXTN", "DSPARK") if chain else ("EAGLE", "NEXTN", "DFLASH", "DSPARK")
    chosen, drafts_on = ("trtllm_mha", "trtllm_mha") if chain else ("triton", "flashinfer")
    choose_backend(args, chosen, "the default for Nemotron-H with speculation on Blackwell")
    if chain and args.page_size is None:
        args.set("page_size", 64, "trtllm_mha with Nemotron-H")
    if chain and args.mamba_radix_cache_strategy == "auto":
        args.set("mamba_radix_cache_strategy", "extra_buffer", "speculation with Nemotron-H")
    drafts = args.speculative_algorithm.upper() in algorithms
    if drafts and args.speculative_draft_attention_backend is None:
        why = "the default for Nemotron-H's draft on Blackwell"
        args.set("speculative_draft_attention_backend", drafts_on, why)


def _strategy_field(args: ServerArgs) -> str:
    return "mamba_radix_cache_strategy" if args.since("0.5.14") else "mamba_scheduler_strategy"


def _has_extra_buffer(args: ServerArgs) -> bool:
    if args.since("0.5.14") and args.disable_radix_cache:
        return False
    return getattr(args, _strategy_field(args)) in ("extra_buffer", "extra_buffer_lazy")


def _supports_extra_buffer(args: ServerArgs, hybrid: Hybrid) -> bool:
    if hybrid.buffers is None or not args.since(hybrid.buffers):
        return False
    return not args.since("0.5.14") or args.linear_attn_backend == "triton"


def _turn_overlap_off(args: ServerArgs) -> None:
    was_on = not args.disable_overlap_schedule
    args.set("disable_overlap_schedule", True, "the states' radix cache without a buffer needs it")
    if was_on:
        args.tell(
            "cache.states-overlap-off",
            "the overlap scheduler is turned off for the radix cache of linear layers",
            None,
            "disable_overlap_schedule",
        )


def _turn_radix_off(args: ServerArgs, why: str, engine_message: str | None) -> None:
    args.set("disable_radix_cache", True, why)
    args.tell(
        "cache.radix-off",
        f"the radix cache is turned off: {why}",
        engine_message,
        "disable_radix_cache",
    )


def _handle_before_strategies(args: ServerArgs, hybrid: Hybrid) -> None:
    """Restate the branches of 0.5.4.post2 to 0.5.8."""
    name = args.architecture
    if not hybrid.caches:
        _turn_radix_off(
            args,
            f"{name} does not support it yet",
            f"Disabling Radix Cache for {name} as it is not yet supported.",
        )
        return
    if name == "Qwen3NextForCausalLM":
        if args.since("0.5.7"):
            _choose_for_qwen_next(args)
            if args.since("0.5.8"):
                return
            if _has_extra_buffer(args):
                _check_extra_buffer(args)
            elif not args.disable_radix_cache:
                _turn_overlap_off(args)
            return
        if not args.disable_radix_cache:
            _turn_overlap_off(args)
        _choose_for_qwen_next(args)
        return
    if args.since("0.5.7"):
        args.require(
            not _has_extra_buffer(args),
            "cache.states",
            f"{name} has no extra buffer for its states",
            f"mamba extra_buffer is not supported for {name} model",
            "mamba_scheduler_strategy",
        )
    if args.disable_radix_cache or (name == "NemotronHForCausalLM" and not args.since("0.5.7")):
        return
    if args.since("0.5.8") and name == "NemotronHForCausalLM" and args.speculative_algorithm:
        _turn_radix_off(
            args,
            "speculation does not support it here",
            "Disabling radix cache since speculative decoding for NemotronHForCausalLM is not "
            "supported with radix cache yet.",
        )
        return
    _turn_overlap_off(args)
    if args.since("0.5.7") and args.machine.is_sm100:
        if args.attention_backend is None and hybrid.sm100 is not None:
            choose_backend(args, hybrid.sm100, f"the default for {name} on SM100")
        _avoid_trtllm_mha(args)


def _choose_for_qwen_next(args: ServerArgs) -> None:
    if not args.machine.is_sm100 or not args.since("0.5.6"):
        return
    if args.attention_backend is None or not args.since("0.5.6.post1"):
        choose_backend(args, "triton", "the default for Qwen3-Next on SM100")
    if args.since("0.5.6.post1") and not args.disable_radix_cache:
        _avoid_trtllm_mha(args)


def _avoid_trtllm_mha(args: ServerArgs) -> None:
    if args.attention_backend != "trtllm_mha":
        return
    _turn_radix_off(
        args,
        "trtllm_mha has no pages of one token",
        "Disabling radix cache since trtllm_mha does not support page_size = 1, which is required "
        "by MambaRadixCache. Try to use --attention-backend triton if radix cache is necessary.",
    )
    args.set("disable_overlap_schedule", False, "the radix cache is off")


def _handle_radix_cache(args: ServerArgs, hybrid: Hybrid) -> None:
    """Restate `_handle_mamba_radix_cache` of 0.5.9 to 0.5.13."""
    name = args.architecture
    caches = hybrid.caches or (hybrid.buffers is not None and args.since(hybrid.buffers))
    if not caches:
        _turn_radix_off(
            args,
            f"{name} does not support it yet",
            f"Disabling Radix Cache for {name} as it is not yet supported.",
        )
        return
    if not _supports_extra_buffer(args, hybrid):
        args.require(
            not _has_extra_buffer(args),
            "cache.states",
            f"{name} has no extra buffer for its states",
            f"mamba extra_buffer is not supported for {name} model",
            "mamba_scheduler_strategy",
        )
    if _has_extra_buffer(args):
        if args.since("0.5.10") and args.disable_radix_cache:
            dot = "." if args.since("0.5.13") else ""
            args.stop(
                "cache.states",
                "the extra buffer belongs to the radix cache, which is off",
                f"mamba extra_buffer is not compatible with --disable-radix-cache{dot} Overlap "
                "scheduling is already supported with no_buffer + disable_radix_cache. Please use "
                "--mamba-scheduler-strategy no_buffer instead.",
                "mamba_scheduler_strategy",
                "disable_radix_cache",
            )
        _check_extra_buffer(args)
    elif not args.disable_radix_cache:
        _handle_without_buffer(args)


def _handle_without_buffer(args: ServerArgs) -> None:
    name = args.architecture
    if args.since("0.5.11") and args.page_size not in (None, 1):
        before = args.page_size
        args.set("page_size", 1, "the states' radix cache without a buffer needs it")
        args.tell(
            "cache.page-size-forced",
            f"page size {before} becomes 1 for the radix cache of linear layers",
            f"{name} with radix cache requires page_size=1 in the current Mamba scheduling mode "
            f"(no_buffer), but got {before}. Automatically setting page_size=1.",
            "page_size",
        )
    if args.speculative_algorithm is None:
        _turn_overlap_off(args)
        _avoid_trtllm_mha(args)
    elif not args.since("0.5.10"):
        _turn_radix_off(
            args,
            f"speculation for {name} does not support it",
            f"Disabling radix cache since speculative decoding for {name} is not supported with "
            "radix cache yet.",
        )
    elif args.since("0.5.11") and args.machine.is_rocm:
        _turn_radix_off(args, f"speculation for {name} does not support it on ROCm", None)
    else:
        args.stop(
            "cache.states-speculative",
            "speculation over linear layers needs the extra buffer, or no radix cache",
            f"Speculative decoding for {name} is not compatible with radix cache when using "
            "--mamba-scheduler-strategy no_buffer.To use radix cache with speculative decoding, "
            "please use --mamba-scheduler-strategy extra_buffer and set SGLANG_ENABLE_SPEC_V2=1.",
            "mamba_scheduler_strategy",
            "speculative_algorithm",
            "disable_radix_cache",
        )


def _resolve_strategy(args: ServerArgs, hybrid: Hybrid) -> None:
    """Restate the radix cache's strategy of 0.5.14 and newer."""
    if args.disable_radix_cache:
        return
    field = "mamba_radix_cache_strategy"
    if args.mamba_radix_cache_strategy == "auto":
        wants = not args.disable_overlap_schedule or (args.page_size or 1) > 1
        if wants and _supports_extra_buffer(args, hybrid):
            args.set(field, "extra_buffer", "overlap or pages are on")
        else:
            args.set(field, "no_buffer", f"no extra buffer for {args.architecture} here")
            _turn_overlap_off(args)
    if _has_extra_buffer(args):
        args.require(
            _supports_extra_buffer(args, hybrid),
            "cache.states",
            f"{args.architecture} has no extra buffer for its states",
            f"extra_buffer is not supported for {args.architecture}; use no_buffer.",
            field,
        )
        _check_extra_buffer(args)
        return
    for holds, said in (
        (args.page_size in (1, None), "no_buffer only supports page_size=1."),
        (
            bool(args.disable_overlap_schedule),
            "no_buffer do not support overlap schedule. Try to set disable_overlap_schedule=True.",
        ),
        (
            args.attention_backend != "trtllm_mha",
            "no_buffer do not support trtllm_mha attention backend.",
        ),
    ):
        args.require(holds, "cache.states", said.rstrip("."), said, field, "page_size")


def _check_extra_buffer(args: ServerArgs) -> None:
    interval, tokens, page = (
        args.mamba_track_interval,
        args.speculative_num_draft_tokens,
        args.page_size,
    )
    plain = args.since("0.5.14")
    if tokens is not None:
        _check_lazy_buffer(args)
        args.require(
            interval >= tokens,
            "cache.states-interval",
            f"`--mamba-track-interval` {interval} is below the draft tokens, {tokens}",
            ""
            if plain
            else f"mamba_track_interval {interval} must be greater than or equal to "
            f"speculative_num_draft_tokens {tokens}",
            "mamba_track_interval",
            "speculative_num_draft_tokens",
        )
    if page is None:
        return
    args.require(
        interval % page == 0,
        "cache.states-interval",
        f"`--mamba-track-interval` {interval} is no multiple of page size {page}",
        "" if plain else f"mamba_track_interval {interval} must be divisible by page_size {page}",
        "mamba_track_interval",
        "page_size",
    )
    if args.since("0.5.13"):
        return
    if args.since("0.5.8"):
        fits = max(FLA_CHUNK_SIZE, page) % min(FLA_CHUNK_SIZE, page) == 0
        said = (
            "For SSM models with extra buffer, either FLA_CHUNK_SIZE or page_size must be "
            f"divisible by the other, got FLA_CHUNK_SIZE={FLA_CHUNK_SIZE}, self.page_size={page}"
        )
    else:
        fits = FLA_CHUNK_SIZE % page == 0
        said = f"Page size for hybrid GDN model must be divisible by {FLA_CHUNK_SIZE}, got {page}"
    args.require(
        fits,
        "cache.states-interval",
        f"page size {page} does not fit the linear layers' chunk of {FLA_CHUNK_SIZE}",
        said,
        "page_size",
    )


def _check_lazy_buffer(args: ServerArgs) -> None:
    if getattr(args, _strategy_field(args)) != "extra_buffer_lazy" or args.since("0.5.17"):
        return
    args.require(
        False,
        "cache.states-speculative",
        "the lazy extra buffer does not support speculation in this release",
        "extra_buffer_lazy unsupported with spec."
        if args.since("0.5.14")
        else "extra_buffer_lazy is not yet supported with speculative decoding. Use "
        "--mamba-scheduler-strategy extra_buffer instead.",
        _strategy_field(args),
    )
