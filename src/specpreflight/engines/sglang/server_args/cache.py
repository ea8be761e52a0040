"""Caches beside the GPU's own: hierarchical, offloaded, LMCache; and four-bit KV caches.

Restates `server_args.py:__post_init__` (to 0.5.2), `_handle_hicache`,
`_handle_cache_compatibility`, `_handle_kv4_compatibility` (0.5.3 to 0.5.18),
`arg_groups/hicache_hook.py` and `arg_groups/kv_cache_hook.py` (0.5.19 and newer).
"""

from __future__ import annotations

from specpreflight.engines.sglang.server_args.default_backend import has_attention_sinks
from specpreflight.engines.sglang.server_args.speculative.common import (
    attention_backends,
    uses_attention_data_parallelism,
)
from specpreflight.engines.sglang.server_args.state import ServerArgs


def fill_page_size_default(args: ServerArgs) -> None:
    """Fill the page size where neither the user nor a backend has set it."""
    if args.page_size is not None:
        return
    layout = args.environment.get("SGLANG_AITER_KV_CACHE_LAYOUT", "").lower()
    if args.since("0.5.15") and args.machine.is_rocm and layout == "vectorized_5d":
        args.set("page_size", 64, "SGLANG_AITER_KV_CACHE_LAYOUT=vectorized_5d")
        return
    args.set("page_size", 1, "the default where no backend needs another")


def handle_hicache(args: ServerArgs) -> None:
    """Match layout, I/O kernel and decode backend of the hierarchical cache."""
    offloads = args.since("0.5.6.post2") and args.disaggregation_decode_enable_offload_kvcache
    on = bool(args.enable_hierarchical_cache or offloads)
    if args.since("0.5.10"):
        host_pool = (
            args.since("0.5.18")
            and args.disaggregation_mode == "decode"
            and args.disaggregation_decode_retraction_backup in (None, "host_pool")
        )
        if not on and not host_pool:
            return
    if args.since("0.5.8"):
        _match_layout(args)
        if not args.since("0.5.10") and on:
            _avoid_fa3_decode(args)
        _match_mooncake(args)
        if args.since("0.5.10") and not args.since("0.5.14"):
            _avoid_fa3_decode(args)
            _match_layout(args)
    else:
        _match_mooncake(args)
        _match_layout(args)
        if on and args.since("0.5.4.post1"):
            _choose_decode(args)
    if args.since("0.5.17") and args.dcp_size > 1 and args.enable_hierarchical_cache:
        _check_decode_context(args)


def _match_layout(args: ServerArgs) -> None:
    layout, io = args.hicache_mem_layout, args.hicache_io_backend
    if layout == "page_first_direct" and io not in ("direct", "kernel_ascend"):
        args.set("hicache_io_backend", "direct", "page_first_direct needs direct I/O")
    if args.since("0.5.10") and layout == "page_first" and io == "direct":
        args.set("hicache_mem_layout", "page_first_direct", "direct I/O needs it")


def _match_mooncake(args: ServerArgs) -> None:
    if args.hicache_storage_backend != "mooncake":
        return
    if not args.since("0.5.3"):
        args.set("hicache_io_backend", "kernel", "Mooncake needs it")
        args.set("hicache_mem_layout", "page_first", "Mooncake needs it")
        return
    if args.hicache_mem_layout != "layer_first":
        return
    if args.since("0.5.23") and args.dcp_size > 1:
        return
    layouts = {"direct": "page_first_direct", "kernel": "page_first"}
    layout = layouts.get(args.hicache_io_backend)
    if layout is not None:
        args.set("hicache_mem_layout", layout, "Mooncake has no layer_first layout")


def _decode_instead_of_fa3(args: ServerArgs) -> str:
    if args.target.attention == "MLA":
        return "flashinfer" if args.machine.is_sm100 else "triton"
    if args.since("0.5.11") and has_attention_sinks(args):
        return "triton"
    return "flashinfer" if args.machine.is_cuda else "triton"


def _choose_decode(args: ServerArgs) -> None:
    if args.hicache_io_backend != "kernel":
        return
    if args.decode_attention_backend is None:
        backend = _decode_instead_of_fa3(args)
        args.set("decode_attention_backend", backend, "the hierarchical cache's default")
    elif args.decode_attention_backend == "fa3":
        args.set("hicache_io_backend", "direct", "fa3 decodes without the I/O kernel")


def _avoid_fa3_decode(args: ServerArgs) -> None:
    _, decode = attention_backends(args)
    if args.hicache_io_backend != "kernel" or decode != "fa3":
        return
    if args.decode_attention_backend is None:
        backend = _decode_instead_of_fa3(args)
        args.set("decode_attention_backend", backend, "the hierarchical cache avoids fa3")
    else:
        args.set("hicache_io_backend", "direct", "fa3 decodes without the I/O kernel")


def _check_decode_context(args: ServerArgs) -> None:
    algorithm = args.speculative_algorithm
    if args.since("0.5.18"):
        fails = algorithm not in (None, "DSPARK")
        said = (
            "HiCache with --dcp-size > 1 only supports DSPARK speculative decoding; other "
            "draft-model host pools have no DCP index translation."
        )
    else:
        fails = algorithm is not None
        said = (
            "HiCache with --dcp-size > 1 does not support speculative decoding yet (the draft-"
            "model host pool has no DCP index translation)."
        )
    if fails:
        args.stop(
            "cache.hierarchical-speculative",
            f"the hierarchical cache with dcp_size {args.dcp_size} does not run with {algorithm}",
            said,
            "enable_hierarchical_cache",
            "dcp_size",
            "speculative_algorithm",
            exception="NotImplementedError",
        )


def handle_cache_compatibility(args: ServerArgs) -> None:
    """Refuse caches that exclude each other (0.5.1 and newer)."""
    if args.enable_hierarchical_cache and args.disable_radix_cache:
        args.stop(
            "cache.hierarchical-without-radix",
            "the hierarchical cache needs the radix cache, which is off",
            "The arguments enable-hierarchical-cache and disable-radix-cache are mutually "
            "exclusive and cannot be used at the same time. Please use only one of them.",
            "enable_hierarchical_cache",
            "disable_radix_cache",
        )
    if args.since("0.5.3") and args.disaggregation_decode_enable_offload_kvcache:
        _check_offload(args)
    if args.since("0.5.7"):
        ratio = args.swa_full_tokens_ratio
        if ratio is not None and not 0 < ratio <= 1.0:
            args.stop(
                "cache.swa-ratio",
                f"`--swa-full-tokens-ratio` must be above 0 and at most 1, got {ratio}",
                "--swa-full-tokens-ratio should be in range (0, 1.0].",
                "swa_full_tokens_ratio",
            )
    if args.since("0.5.21") and args.enable_lmcache:
        _check_lmcache(args)


def _check_offload(args: ServerArgs) -> None:
    name = "disaggregation-decode-enable-offload-kvcache"
    field = "disaggregation_decode_enable_offload_kvcache"
    if args.disaggregation_mode != "decode":
        args.stop(
            "cache.offload",
            f"`--{name}` is for the decode server",
            f"The argument {name} is only supported for decode side.",
            field,
            "disaggregation_mode",
        )
    elif args.since("0.5.10"):
        if args.hicache_storage_backend is None:
            args.stop(
                "cache.offload",
                f"`--{name}` needs `--hicache-storage-backend`",
                f"The argument {name} is only supported when hicache-storage-backend is provided.",
                field,
                "hicache_storage_backend",
            )
    elif args.since("0.5.5.post3") and args.variable_is_true("SGLANG_ENABLE_SPEC_V2"):
        args.stop(
            "cache.offload-spec-v2",
            "the decode server cannot offload its KV cache with SGLANG_ENABLE_SPEC_V2",
            "Spec v2 and decode offload kv cache are incompatible and cannot be enabled together.",
            field,
        )


def _check_lmcache(args: ServerArgs) -> None:
    if args.disable_radix_cache:
        args.stop(
            "cache.lmcache",
            "LMCache needs the radix cache, which is off",
            "--enable-lmcache requires radix cache to be enabled",
            "enable_lmcache",
            "disable_radix_cache",
        )
    for fails, what in (
        (args.speculative_algorithm is not None, "speculative decoding"),
        (uses_attention_data_parallelism(args), "DP attention"),
    ):
        if fails:
            args.stop(
                "cache.lmcache-speculative" if "speculative" in what else "cache.lmcache",
                f"LMCache does not support {what}",
                f"LMCacheUnifiedRadixCache does not yet support {what}",
                "enable_lmcache",
                "speculative_algorithm",
                exception="NotImplementedError",
            )


def handle_kv4_compatibility(args: ServerArgs) -> None:
    """Check the attention backends of a four-bit KV cache (0.5.7 and newer)."""
    kinds = ("nvfp4", "fp4_mx_block16") if args.since("0.5.16") else ("fp4_e2m1",)
    if args.kv_cache_dtype not in kinds:
        return
    if not args.machine.is_cuda:
        args.stop(
            "cache.kv4",
            "a four-bit KV cache needs CUDA",
            "KV4 is not tested on non-CUDA platforms.",
            "kv_cache_dtype",
            exception="RuntimeError",
        )
        return
    if args.kv_cache_dtype == "nvfp4" and not (args.machine.is_sm100 or args.machine.is_sm120):
        args.stop(
            "cache.kv4-hardware",
            f"an nvfp4 KV cache needs Blackwell, this is {args.machine.name}",
            "--kv-cache-dtype=nvfp4 requires Blackwell SM100 or SM120. Use "
            "--kv-cache-dtype=fp4_mx_block16 for the block-size-16 FP4 recipe.",
            "kv_cache_dtype",
            exception="RuntimeError",
        )
    prefill, decode = attention_backends(args)
    if args.since("0.5.21"):
        _check_native_nvfp4(args, prefill, decode)
    if prefill != decode and prefill != "fa4":
        return
    mla = args.target.attention == "MLA"
    allowed = ["triton", "torch_native", "flex_attention"]
    if mla:
        allowed = ["flashinfer", "trtllm_mla"]
        if not args.since("0.5.20"):
            allowed.insert(0, "cutlass_mla")
    kind = "MLA" if mla else "MHA"
    if prefill == "fa4":
        field, used, who = "decode_attention_backend", decode, f"KV4 FA4 {kind}"
    else:
        field, used, who = "attention_backend", args.attention_backend, f"KV4 {kind}"
        if not mla:
            allowed.append("trtllm_mha")
        elif not args.since("0.5.16"):
            allowed.append("flashmla")
    args.require(
        used in allowed,
        "cache.kv4",
        f"a four-bit KV cache needs {', '.join(allowed)} as {field}, got {used}",
        f"{who} expects {field} to be one of {allowed}, but got {used}",
        field,
        "kv_cache_dtype",
    )


def _check_native_nvfp4(args: ServerArgs, prefill: str | None, decode: str | None) -> None:
    """trtllm_mha on SM100 keeps NVFP4 scales in a layout of its own (0.5.21 and newer)."""
    native = args.kv_cache_dtype == "nvfp4" and args.machine.is_sm100
    if not native or "trtllm_mha" not in (prefill, decode) or args.speculative_algorithm is None:
        return
    algorithm, said = str(args.speculative_algorithm).upper(), "SM100 native NVFP4"
    topic, fields = "cache.nvfp4-speculative", ("kv_cache_dtype", "speculative_algorithm")
    if algorithm not in ("EAGLE", "EAGLE3", "NEXTN", "NGRAM"):
        block = algorithm in ("DFLASH", "DSPARK")
        args.stop(
            topic,
            f"an nvfp4 KV cache on trtllm_mha does not go with {algorithm}",
            f"{said} speculative decoding does not yet support {algorithm}; use EAGLE/NEXTN or "
            "NGRAM."
            if block
            else f"{said} speculative decoding supports EAGLE, EAGLE3, NEXTN, and breadth-1 NGRAM; "
            f"got {algorithm}.",
            *fields,
        )
    breadth = args.speculative_ngram_max_bfs_breadth
    if algorithm == "NGRAM" and breadth != 1:
        args.stop(
            topic,
            f"an nvfp4 KV cache on trtllm_mha verifies chains only, NGRAM's breadth is {breadth}",
            f"{said} NGRAM speculative decoding requires --speculative-ngram-max-bfs-breadth=1 "
            "because trtllm_mha supports linear target verification only; got "
            f"{breadth}.",
            "speculative_ngram_max_bfs_breadth",
        )
    if algorithm == "NGRAM":
        return
    own = args.speculative_draft_attention_backend
    if own is None:
        args.set("speculative_draft_attention_backend", "trtllm_mha", "the target's NVFP4 layout")
    elif own != "trtllm_mha":
        args.stop(
            topic,
            f"an nvfp4 KV cache needs the draft on trtllm_mha as well, got {own}",
            f"{said} speculative decoding requires "
            "--speculative-draft-attention-backend=trtllm_mha so the draft worker consumes its "
            f"physical NVFP4 KV layout; got {own!r}.",
            "speculative_draft_attention_backend",
        )
