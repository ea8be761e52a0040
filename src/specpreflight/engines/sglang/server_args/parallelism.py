"""Data, context and pipeline parallelism.

Restates `server_args.py:__post_init__` (to 0.5.2), `_handle_data_parallelism`,
`_handle_context_parallelism`, `_handle_pipeline_parallelism`, `_handle_dcp_validation` (0.5.3 to
0.5.18), and `arg_groups/parallel_hook.py`, `arg_groups/overrides.py` (0.5.19 and newer).
"""

from __future__ import annotations

from specpreflight.engines.sglang.server_args.speculative.common import (
    uses_attention_data_parallelism,
)
from specpreflight.engines.sglang.server_args.state import ServerArgs


def handle_data_parallelism(args: ServerArgs) -> None:
    """Resolve DP attention; it divides the chunked prefill size."""
    if args.since("0.5.22"):
        _check_attention_dp_size(args)
    elif args.since("0.5.2") and args.dp_size == 1:
        args.set("enable_dp_attention", False, "dp_size is 1")
    if args.since("0.5.3") and _dp_ranks(args) == 1:
        args.set("enable_dp_lm_head", False, "dp_size is 1")
    if uses_attention_data_parallelism(args):
        _share_prefill(args)
    if args.since("0.5.18") and args.enable_tp_lm_head_all_to_all is None:
        args.set("enable_tp_lm_head_all_to_all", _shares_lm_head(args), "a decode server with DP")
    if args.enable_dp_lm_head and not uses_attention_data_parallelism(args):
        said = "Please enable dp attention when setting enable_dp_lm_head. "
        if not args.since("0.4.9.post2"):
            said = "Please enable dp attention when setting enable_dp_attention. "
        if args.since("0.5.22"):
            said = "--enable-dp-lm-head requires attention DP (--attn-dp-size)."
        args.require(
            False,
            "parallelism.dp-lm-head",
            "`--enable-dp-lm-head` needs DP attention",
            said,
            "enable_dp_lm_head",
            "enable_dp_attention",
        )


def _shares_lm_head(args: ServerArgs) -> bool:
    """Restate `arg_groups/overrides.py:_tp_lm_head_all_to_all_default` (0.5.18 and newer)."""
    size = args.attn_dp_size if args.since("0.5.22") else args.dp_size
    return bool(
        args.disaggregation_mode == "decode"
        and uses_attention_data_parallelism(args)
        and size > 1
        and args.tp_size == size
        and args.attn_cp_size == 1
        and not args.enable_dp_lm_head
    )


def _dp_ranks(args: ServerArgs) -> int:
    if args.since("0.5.22"):
        return int(args.attn_dp_size) * int(args.dp_size)
    return int(args.dp_size)


def _check_attention_dp_size(args: ServerArgs) -> None:
    if args.attn_dp_size < 1:
        args.stop(
            "parallelism.dp-size",
            f"`--attn-dp-size` must be positive, got {args.attn_dp_size}",
            f"--attn-dp-size must be positive (got {args.attn_dp_size}).",
            "attn_dp_size",
        )
    if args.attn_dp_size > 1 and args.dp_size > 1:
        args.stop(
            "parallelism.dp-size",
            "data-parallel replicas cannot be combined with attention data parallelism",
            f"--dp-size {args.dp_size} with --attn-dp-size {args.attn_dp_size}: data-parallel "
            "replicas combined with attention data parallelism are not supported.",
            "dp_size",
            "attn_dp_size",
        )


def _share_prefill(args: ServerArgs) -> None:
    field = "attn_dp_size" if args.since("0.5.22") else "dp_size"
    size = int(getattr(args, field))
    args.set(
        "schedule_conservativeness",
        args.schedule_conservativeness * 0.3,
        "DP attention schedules less conservatively",
    )
    if not args.since("0.5.2"):
        args.require(
            size > 1,
            "parallelism.dp-size",
            f"DP attention needs `--dp-size` above 1, got {size}",
            "Please set a dp-size > 1. You can use 1 < dp-size <= tp-size ",
            "dp_size",
            "enable_dp_attention",
        )
    divides = size > 0 and args.tp_size % size == 0
    args.require(
        divides,
        "parallelism.dp-size",
        f"DP attention needs tp_size ({args.tp_size}) to be a multiple of dp_size ({size})",
        "",
        "tp_size",
        field,
    )
    if size < 1:
        return
    before = args.chunked_prefill_size
    args.set("chunked_prefill_size", before // size, f"DP attention: {before} // {size}")
    after = args.chunked_prefill_size
    if args.since("0.5.16"):
        said = (
            f"DP attention is enabled. chunked prefill size is adjusted from {before} to {after}."
        )
    else:
        said = (
            f"DP attention is enabled. The chunked prefill size is adjusted to {after} to avoid "
            "MoE kernel issues. "
        )
    args.tell(
        "parallelism.dp-chunked-prefill",
        f"DP attention divides the chunked prefill size: {before} becomes {after}",
        said,
        "chunked_prefill_size",
        field,
    )


def handle_context_parallelism(args: ServerArgs) -> None:
    """Check that the ranks divide among attention's context and MoE's data parallelism."""
    if args.enable_prefill_cp and args.since("0.5.14") and args.cp_strategy is None:
        args.stop(
            "parallelism.context",
            "`--enable-prefill-cp` needs `--cp-strategy`",
            "--cp-strategy must be set when --enable-prefill-cp is enabled.",
            "enable_prefill_cp",
            "cp_strategy",
        )
    attention, moe, tp = args.attn_cp_size, args.moe_dp_size, args.tp_size
    dp_field = "attn_dp_size" if args.since("0.5.22") else "dp_size"
    dp = getattr(args, dp_field)
    checks: list[tuple[bool, str]] = []
    if attention > 1:
        checks += [
            (tp % attention == 0, "tp_size must be divisible by attn_cp_size"),
            (
                tp % (dp * attention) == 0,
                f"tp_size must be divisible by {dp_field} * attn_cp_size",
            ),
        ]
        if not args.since("0.5.10"):
            checks.append((args.pp_size == 1, "PP is not supported with context parallelism"))
    if moe > 1:
        ep = args.ep_size
        checks += [
            (tp % moe == 0, "tp_size must be divisible by moe_dp_size"),
            (ep * moe <= tp, "ep_size * moe_dp_size must be less than or equal to tp_size"),
            (args.pp_size == 1, "PP is not supported with context parallelism"),
            (ep <= 1 or ep * moe == tp, "ep_size * moe_dp_size must be equal to tp_size"),
        ]
    if args.since("0.5.11"):
        checks.append(
            (
                attention == moe or moe == 1,
                "attn_cp_size != moe_dp_size is only supported when moe_dp_size == 1",
            )
        )
    fields = ("tp_size", "attn_cp_size", dp_field, "moe_dp_size", "ep_size", "pp_size")
    for holds, said in checks:
        args.require(holds, "parallelism.context", said, said, *fields)


def handle_pipeline_parallelism(args: ServerArgs) -> None:
    """Turn the overlap scheduler off where there are pipeline stages."""
    if args.pp_size <= 1:
        return
    args.set("disable_overlap_schedule", True, "pipeline parallelism has no overlap scheduler")
    args.tell(
        "parallelism.pipeline-overlap-off",
        "the overlap scheduler is turned off for pipeline parallelism",
        "Pipeline parallelism is incompatible with overlap schedule.",
        "pp_size",
        "disable_overlap_schedule",
    )


def handle_decode_context_parallelism(args: ServerArgs) -> None:
    """Check `--dcp-size` (0.5.15 and newer)."""
    size = args.dcp_size
    if size < 1:
        args.stop(
            "parallelism.decode-context",
            f"`--dcp-size` must be at least 1, got {size}",
            "Decode context parallel size (--dcp-size / --decode-context-parallel-size) must be >= "
            f"1, but got dcp_size={size}.",
            "dcp_size",
        )
    if size <= 1 or args.machine.is_rocm or args.since("0.5.17"):
        return
    if args.machine.is_cuda and args.speculative_algorithm is not None:
        args.stop(
            "parallelism.decode-context-speculative",
            "decode context parallelism does not support speculation in this release",
            "Decode context parallel (--dcp-size / --decode-context-parallel-size > 1) on CUDA "
            f"platform does not support any speculative algorithm, but got dcp_size={size} on a "
            "CUDA platform with speculative decoding enabled.",
            "dcp_size",
            "speculative_algorithm",
        )
    elif not args.machine.is_cuda:
        args.stop(
            "parallelism.decode-context",
            "decode context parallelism is for AMD GPUs in this release",
            "Decode context parallel (--dcp-size / --decode-context-parallel-size > 1) is "
            "currently only supported on the AMD HIP platform, but got "
            f"dcp_size={size} on a non-HIP platform.",
            "dcp_size",
        )
