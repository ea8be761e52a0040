"""The last look over everything: `check_server_args`.

Restates `server_args.py:check_server_args` (to 0.5.18) and
`arg_groups/validation_hook.py:check_server_args` (0.5.19 and newer). Up to 0.4.9.post3 some of it
stands in `__post_init__`.
"""

from __future__ import annotations

from specpreflight.engines.sglang.server_args.lora import check_lora
from specpreflight.engines.sglang.server_args.speculative.common import (
    uses_attention_data_parallelism,
)
from specpreflight.engines.sglang.server_args.state import ServerArgs


def check_server_args(args: ServerArgs) -> None:
    """Make the engine's last checks."""
    if not (args.since("0.5.16") and args.ep_join_mode == "scale"):
        _check_nodes(args)
    if args.since("0.5.12") and args.disable_cuda_graph_padding and args.enable_torch_compile:
        _refuse_compile_without_padding(args)
    if args.pp_size > 1:
        _check_pipeline(args)
    _check_replicas(args)
    args.require(
        args.base_gpu_id >= 0,
        "parallelism.gpus",
        f"`--base-gpu-id` must not be negative, got {args.base_gpu_id}",
        "base_gpu_id must be non-negative",
        "base_gpu_id",
    )
    args.require(
        args.gpu_id_step >= 1,
        "parallelism.gpus",
        f"`--gpu-id-step` must be positive, got {args.gpu_id_step}",
        "gpu_id_step must be positive",
        "gpu_id_step",
    )
    if args.since("0.4.9.post3"):
        check_moe_dense_tp_size(args)
    args.attempt(_check_model_backend)
    check_lora(args)
    if args.since("0.4.9.post4"):
        _check_mixed_chunk(args)
        check_chunk_pages(args)
    if args.since("0.5.3.post2") and args.enable_pdmux:
        _check_pdmux(args)
    if args.since("0.5.3") and args.enable_priority_scheduling:
        args.require(
            args.schedule_policy in ("fcfs", "lof"),
            "arguments.priority-scheduling",
            f"priority scheduling needs fcfs or lof, got {args.schedule_policy}",
            "To use priority scheduling, schedule_policy must be 'fcfs' or 'lof'. "
            f"'{args.schedule_policy}' is not supported.",
            "schedule_policy",
        )
    if args.since("0.5.7") and args.enable_two_batch_overlap:
        _check_two_batch_overlap(args)


def _check_nodes(args: ServerArgs) -> None:
    ranks, nodes = args.tp_size * args.pp_size, args.nnodes
    args.require(
        ranks % nodes == 0,
        "parallelism.nodes",
        f"{ranks} ranks do not divide among {nodes} nodes",
        "tp_size must be divisible by number of nodes",
        "tp_size",
        "pp_size",
        "nnodes",
    )


def _refuse_compile_without_padding(args: ServerArgs) -> None:
    args.require(
        False,
        "arguments.compile-without-padding",
        "`--enable-torch-compile` would compile every batch size without CUDA graph padding",
        "--disable-cuda-graph-padding is incompatible with --enable-torch-compile. With padding "
        "disabled, every distinct batch size gets its own torch.compile + Triton autotune cycle "
        "(O(max_batch_size) compilations) instead of the small fixed set of padded bucket sizes, "
        "causing engine initialisation to stall for many minutes. Remove "
        "--disable-cuda-graph-padding or --enable-torch-compile.",
        "disable_cuda_graph_padding",
        "enable_torch_compile",
    )


def _check_pipeline(args: ServerArgs) -> None:
    if args.since("0.5.21"):
        _check_pipeline_by_algorithm(args)
        return
    works = args.disable_overlap_schedule and args.speculative_algorithm is None
    said = "Pipeline parallelism is not compatible with overlap schedule, speculative decoding"
    if not args.since("0.5.11"):
        works = works and not args.enable_mixed_chunk
        said += ", mixed chunked prefill."
    args.require(
        bool(works),
        "parallelism.pipeline-speculative",
        "pipeline parallelism does not support speculation in this release",
        said,
        "pp_size",
        "speculative_algorithm",
        "enable_mixed_chunk",
    )


def _check_pipeline_by_algorithm(args: ServerArgs) -> None:
    algorithm, mode = args.speculative_algorithm, args.disaggregation_mode
    ranks_too = args.variable_is_true("SGLANG_ENABLE_PP_SPEC")
    checks: list[tuple[bool, str]] = [
        (
            bool(args.disable_overlap_schedule),
            "Pipeline parallelism is not compatible with overlap schedule",
        )
    ]
    if algorithm == "DSPARK":
        checks += [
            (
                mode == "prefill",
                "Pipeline parallel DSPARK requires disaggregation-mode=prefill",
            ),
            (not ranks_too, "SGLANG_ENABLE_PP_SPEC does not support DSPARK PD prefill"),
        ]
    elif algorithm is not None:
        checks.append(
            (
                algorithm.upper() == "EAGLE" and not args.enable_multi_layer_eagle,
                "Pipeline parallelism currently only supports EAGLE (non-multi-layer) speculative "
                "decoding",
            )
        )
        what = "attention DP (--attn-dp-size)" if args.since("0.5.22") else "--enable-dp-attention"
        prefix = "SGLANG_ENABLE_PP_SPEC is not compatible with "
        if ranks_too:
            checks += [
                (mode == "null", prefix + "--disaggregation-mode"),
                (not args.speculative_adaptive, prefix + "--speculative-adaptive"),
                (not uses_attention_data_parallelism(args), prefix + what),
            ]
        else:
            checks.append(
                (
                    mode == "prefill",
                    "PP + speculative decoding (MTP) is only supported on prefill nodes "
                    "(disaggregation-mode=prefill)",
                )
            )
    for holds, said in checks:
        args.require(
            holds,
            "parallelism.pipeline-speculative",
            said,
            said,
            "pp_size",
            "speculative_algorithm",
            "disaggregation_mode",
        )


def _check_replicas(args: ServerArgs) -> None:
    if args.since("0.5.22"):
        works = not (args.dp_size > 1 and args.nnodes != 1)
        said = (
            "multi-node data-parallel replicas are not supported; use attention DP "
            "(--attn-dp-size) across nodes"
        )
    else:
        works = not (args.dp_size > 1 and args.nnodes != 1 and not args.enable_dp_attention)
        said = "multi-node data parallel is not supported unless dp attention!"
    args.require(
        works,
        "parallelism.nodes",
        f"dp_size {args.dp_size} does not spread over {args.nnodes} nodes without DP attention",
        said,
        "dp_size",
        "nnodes",
        "enable_dp_attention",
    )


def check_moe_dense_tp_size(args: ServerArgs) -> None:
    """Check `--moe-dense-tp-size`."""
    allowed = (None, 1, args.tp_size) if args.since("0.5.13") else (None, 1)
    args.require(
        args.moe_dense_tp_size in allowed,
        "parallelism.moe-dense",
        f"`--moe-dense-tp-size` {args.moe_dense_tp_size} is not supported",
        "moe_dense_tp_size only supports None, 1, or tp_size currently"
        if args.since("0.5.13")
        else "moe_dense_tp_size only support 1 and None currently",
        "moe_dense_tp_size",
    )


def _check_model_backend(args: ServerArgs) -> None:
    """Check Llama 4's backend where this is the place (0.4.9.post4 to 0.4.10.post2)."""
    if not args.since("0.4.9.post4") or args.since("0.5.1"):
        return
    if "Llama4" in args.architecture:
        args.require(
            args.attention_backend == "fa3",
            "attention.model-backend",
            f"Llama 4 needs fa3, got {args.attention_backend}",
            "fa3 is required for Llama4 model",
            "attention_backend",
        )


def _check_mixed_chunk(args: ServerArgs) -> None:
    algorithm = args.speculative_algorithm
    if algorithm is None or not args.enable_mixed_chunk:
        return
    tolerant = args.release.probe("arguments.mixed-chunk")
    if isinstance(tolerant, tuple) and algorithm in tolerant:
        return
    said = "enable_mixed_chunk is required for speculative decoding"
    if args.since("0.5.19"):
        said = f"enable_mixed_chunk is not supported with speculative_algorithm={algorithm}"
    args.require(
        False,
        "arguments.mixed-chunk",
        f"mixed chunked prefill does not run with {algorithm}",
        said,
        "enable_mixed_chunk",
        "speculative_algorithm",
    )


def check_chunk_pages(args: ServerArgs) -> None:
    """Check that a prefill chunk is a whole number of pages."""
    chunk, page = args.chunked_prefill_size, args.page_size
    if args.since("0.5.1") and chunk <= 0:
        return
    if args.since("0.5.3") and args.disaggregation_mode == "decode":
        return
    args.require(
        chunk % page == 0,
        "cache.chunk-pages",
        f"chunked prefill size {chunk} is not a multiple of page size {page}",
        "chunked_prefill_size must be divisible by page_size" if args.since("0.4.9.post4") else "",
        "chunked_prefill_size",
        "page_size",
    )


def _check_pdmux(args: ServerArgs) -> None:
    prefix = "PD-Multiplexing is "
    for holds, said in (
        (
            args.pp_size == 1,
            "only supported with pipeline parallelism disabled (pp_size=1).",
        ),
        (args.chunked_prefill_size == -1, "not compatible with chunked prefill."),
        (args.disaggregation_mode == "null", "not compatible with disaggregation mode."),
        (bool(args.disable_overlap_schedule), "not compatible with overlap schedule."),
    ):
        args.require(
            holds, "arguments.pd-multiplexing", prefix + said, prefix + said, "enable_pdmux"
        )


def _check_two_batch_overlap(args: ServerArgs) -> None:
    if args.moe_a2a_backend != "none":
        return
    said = "When enabling two batch overlap, moe_a2a_backend cannot be 'none'."
    if args.since("0.5.15"):
        if uses_attention_data_parallelism(args):
            return
        needed = "--enable-dp-attention is required"
        if args.since("0.5.22"):
            needed = "attention DP (--attn-dp-size) is required"
        said = (
            "When enabling two batch overlap without an EP a2a backend (moe_a2a_backend='none'), "
            f"{needed} (DeepSeek-V4 non-EP DP TBO path)."
        )
    args.stop(
        "parallelism.two-batch-overlap",
        "two-batch overlap needs an all-to-all backend, and none is chosen",
        said,
        "enable_two_batch_overlap",
        "moe_a2a_backend",
    )
