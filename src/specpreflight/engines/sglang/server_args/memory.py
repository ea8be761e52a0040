"""What follows from the GPU's memory: the chunked prefill size, CUDA graphs, the static share.

Restates `server_args.py:__post_init__` (to 0.5.2) and `_handle_gpu_memory_settings` (0.5.3 to
0.5.18), `arg_groups/memory_hook.py:handle_gpu_memory_settings` (0.5.19 and newer). The share
(`mem_fraction_static`) is only restated where it depends on the arguments alone (0.4.7.post1 to
0.5.9, text models); it is left unset elsewhere, as no later step reads it.
"""

from __future__ import annotations

from specpreflight.engines.sglang.server_args.state import ServerArgs

_GIB = 1024


def handle_gpu_memory_settings(args: ServerArgs) -> None:
    """Fill the sizes that depend on the GPU's memory; most releases read the target's config."""
    if args.since("0.5.3"):
        _fill_by_memory(args)
    else:
        _fill_by_memory_before_handlers(args)
    if args.mem_fraction_static is not None:
        if args.since("0.5.8") and args.has("piecewise_cuda_graph_max_tokens"):
            _read_target(args)
        return
    reserved = _reserved_mib(args)
    memory = args.machine.memory_mib
    if args.since("0.4.9"):
        _read_target(args)
    if reserved is None or memory is None or args.target.is_multimodal:
        args.unknown.append(("mem_fraction_static", "it depends on CUDA graph sizes or images"))
        return
    share = round((memory - reserved) / memory, 3)
    args.set("mem_fraction_static", share, f"{memory} MiB less {reserved:g} MiB reserved")


def _read_target(args: ServerArgs) -> None:
    """Build the target's `ModelConfig`; a config that stops the launch stops it here."""
    _ = args.target


def _fill_by_memory_before_handlers(args: ServerArgs) -> None:
    memory = args.machine.memory_mib
    if args.chunked_prefill_size is None:
        args.set("chunked_prefill_size", _early_chunk(args, memory), "by the GPU's memory")
    limit = 25_000 if not args.since("0.4.7.post1") else 35 * _GIB
    if args.cuda_graph_max_bs is None and memory is not None and memory < limit:
        args.set("cuda_graph_max_bs", 8 if args.tp_size < 4 else 80, "by the GPU's memory")


def _early_chunk(args: ServerArgs, memory: int | None) -> int:
    if args.since("0.4.7.post1"):
        if memory is None:
            return 4096
        if memory < 35 * _GIB:
            return 2048
        return 8192 if memory < 160 * _GIB else 16384
    if args.since("0.4.7") and memory is not None and memory > 180_000:
        return 16384
    if memory is not None and memory < 25_000:
        return 2048
    return 16384 if args.disaggregation_mode != "null" else 8192


def _fill_by_memory(args: ServerArgs) -> None:
    memory = args.machine.memory_mib
    chunk, few, many = _sizes(args, memory)
    if args.chunked_prefill_size is None:
        args.set("chunked_prefill_size", chunk, "by the GPU's memory")
    if args.since("0.5.14"):
        return
    if args.cuda_graph_max_bs is None:
        args.set("cuda_graph_max_bs", few if args.tp_size < 4 else many, "by the GPU's memory")
    if args.cuda_graph_bs:
        args.set("cuda_graph_max_bs", max(args.cuda_graph_bs), "the largest `--cuda-graph-bs`")


def _sizes(args: ServerArgs, memory: int | None) -> tuple[int, int, int]:
    """Return the chunked prefill size and the largest graph batch for tp < 4 and above."""
    if memory is None:
        return 4096, 160, 160
    if memory < 20 * _GIB:
        return 2048, 8, 8
    if memory < 35 * _GIB:
        if args.since("0.5.20"):
            return 4096, 48, 160
        return 2048, 24 if args.since("0.5.4.post1") else 16, 80
    if memory < 60 * _GIB:
        return 4096, 32, 160
    if memory < 160 * _GIB:
        return 8192, 256, 512
    return 16384, 512, 512


def _reserved_mib(args: ServerArgs) -> float | None:
    """Return what the engine keeps free of one GPU, in MiB; `None` where that is not restated."""
    memory = args.machine.memory_mib
    if memory is None or not args.since("0.4.7.post1") or args.since("0.5.10"):
        return None
    if args.enable_piecewise_cuda_graph:
        return None
    if args.since("0.5.3"):
        return _reserved_by_sizes(args, memory)
    ranks = args.tp_size * args.pp_size
    if memory < 35 * _GIB:
        reserved = (2.8 + ranks / 10) * _GIB
    elif memory < 90 * _GIB:
        reserved = (9.5 + ranks / 2) * _GIB
    elif memory < 160 * _GIB:
        reserved = (12 + ranks / 2) * _GIB
    else:
        reserved = 32 * _GIB
    if args.speculative_algorithm is not None:
        standalone = args.since("0.5.2") and args.speculative_algorithm == "STANDALONE"
        reserved += (6 if standalone else 2) * _GIB
    if args.enable_dp_attention:
        reserved += 4 * _GIB
    return float(reserved)


def _reserved_by_sizes(args: ServerArgs, memory: int) -> float:
    chunk, graphs = args.chunked_prefill_size, args.cuda_graph_max_bs
    prefill = chunk if chunk > 0 else args.max_prefill_tokens
    reserved = 512 + max(prefill, 2048) * 1.5 + graphs * 2
    reserved += args.tp_size * args.pp_size / 8 * _GIB
    if args.enable_dp_attention:
        reserved += graphs * args.dp_size * (4.5 if graphs > 300 else 3)
    if memory > 60 * _GIB:
        reserved = max(reserved, 10 * _GIB)
    if args.speculative_algorithm == "STANDALONE":
        reserved += 6 * _GIB
    elif args.speculative_algorithm not in (None, "NGRAM"):
        reserved += 2 * _GIB
    return float(reserved)
