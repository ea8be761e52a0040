"""Which attention backend a machine refuses, and the pages that a backend forces.

Restates `server_args.py:__post_init__` (to 0.5.2), `_handle_attention_backend_compatibility`
(0.5.3 to 0.5.18), the passes of `arg_groups/overrides.py` (0.5.15 and newer) and
`arg_groups/attention_hook.py` (0.5.19 and newer).
"""

from __future__ import annotations

from specpreflight.engines.sglang.server_args.default_backend import fill_default_backend
from specpreflight.engines.sglang.server_args.speculative.common import attention_backends
from specpreflight.engines.sglang.server_args.state import ServerArgs


def handle_attention_backend_compatibility(args: ServerArgs) -> None:
    """Choose the backend where none is given, check it, and let it set the page size."""
    if args.since("0.5.4.post1"):
        fill_default_backend(args)
    backend = args.attention_backend
    if backend in ("torch_native", "flex_attention"):
        args.set("disable_cuda_graph", True, f"{backend} has no CUDA graphs")
    if backend == "flex_attention" and args.since("0.5.3"):
        args.require(
            args.speculative_algorithm is None,
            "attention.flex-attention",
            "flex_attention does not support speculative decoding",
            "Speculative decoding is currently not supported with Flex Attention backend",
            "attention_backend",
            "speculative_algorithm",
        )
    _check_mla_backends(args)
    _check_trtllm_mha(args)
    _replace_fa3_for_e5m2(args)
    _check_fa4(args)
    if args.attention_backend == "intel_amx" and args.device == "cpu":
        args.unknown.append(("attention_backend", "whether this CPU has AMX"))
    _check_dual_chunk(args)


def _uses(args: ServerArgs, backend: str, *fields: str) -> bool:
    return any(getattr(args, field) == backend for field in fields)


def _force_page_size(args: ServerArgs, size: int, allowed: tuple[int, ...], who: str) -> None:
    """Set the page size that a backend needs, with a warning where another one was set."""
    before = args.page_size
    if before in allowed:
        return
    args.set("page_size", size, f"{who} only supports pages of {' or '.join(map(str, allowed))}")
    if before is not None and before != size:
        args.tell(
            "cache.page-size-forced",
            f"page size {before} becomes {size}: {who} needs it",
            None,
            "page_size",
            "attention_backend",
        )


def _check_mla_backends(args: ServerArgs) -> None:
    both = ("attention_backend", "decode_attention_backend")
    either = both if args.since("0.4.9.post5") else ("attention_backend",)
    if _uses(args, "flashmla", *either):
        _force_page_size(args, 64, (64,), "FlashMLA")
    if not args.since("0.5.20") and _uses(args, "cutlass_mla", *either):
        _force_page_size(args, 128, (128,), "Cutlass MLA")
    fields = both if args.since("0.5.1") else ("attention_backend",)
    if args.since("0.4.10.post1") and _uses(args, "trtllm_mla", *fields):
        _check_trtllm_mla(args)
    if args.since("0.5.12") and _uses(args, "tokenspeed_mla", *both):
        _check_tokenspeed_mla(args)
    if args.since("0.5.13"):
        _check_cutedsl_mla(args)


def _check_trtllm_mla(args: ServerArgs) -> None:
    supported, named = args.machine.is_sm100, "SM100"
    if args.since("0.5.4.post2"):
        supported = args.machine.is_blackwell
    if args.since("0.5.9"):
        named = "SM100/SM12x"
    if not supported:
        args.stop(
            "attention.backend-hardware",
            f"trtllm_mla needs Blackwell, this is {args.machine.name}",
            f"TRTLLM MLA backend is only supported on Blackwell GPUs ({named}). Please use a "
            "different backend.",
            "attention_backend",
            "decode_attention_backend",
        )
    _force_page_size(args, 64, (32, 64), "TensorRT-LLM MLA")
    if not args.since("0.5.1"):
        if args.speculative_algorithm is not None:
            args.stop(
                "attention.trtllm-mla-speculative",
                "trtllm_mla does not support speculative decoding in this release",
                "trtllm_mla backend does not support speculative decoding yet.",
                "attention_backend",
                "speculative_algorithm",
            )
        return
    allowed = ["fp8_e4m3", "auto"]
    if args.since("0.5.21"):
        allowed = ["fp8_e4m3", "bf16", "auto"]
    elif args.since("0.5.7"):
        allowed = ["fp8_e4m3", "fp4_e2m1", "bf16", "auto"]
    elif args.since("0.5.4.post3"):
        allowed = ["fp8_e4m3", "fp4_e2m1", "auto"]
    if args.kv_cache_dtype not in allowed:
        comma = "," if len(allowed) > 2 else ""
        named = ", ".join(allowed[:-1]) + comma + " or " + allowed[-1]
        args.stop(
            "attention.backend-kv-dtype",
            f"trtllm_mla supports KV cache types {named}, got {args.kv_cache_dtype}",
            f"TensorRT-LLM MLA backend only supports kv-cache-dtype of {named}.",
            "kv_cache_dtype",
            "attention_backend",
        )


def _check_tokenspeed_mla(args: ServerArgs) -> None:
    if args.since("0.5.23"):
        return
    if not args.machine.is_blackwell:
        args.stop(
            "attention.backend-hardware",
            f"tokenspeed_mla needs Blackwell, this is {args.machine.name}",
            "tokenspeed_mla backend is only supported on Blackwell GPUs (SM100/SM12x).",
            "attention_backend",
        )
    _force_page_size(args, 64, (32, 64), "tokenspeed_mla")
    if args.kv_cache_dtype != "fp8_e4m3":
        args.stop(
            "attention.backend-kv-dtype",
            f"tokenspeed_mla needs an fp8_e4m3 KV cache, got {args.kv_cache_dtype}",
            f"tokenspeed_mla backend requires kv-cache-dtype=fp8_e4m3, got {args.kv_cache_dtype}.",
            "kv_cache_dtype",
            "attention_backend",
        )


def _check_cutedsl_mla(args: ServerArgs) -> None:
    fields = ("attention_backend", "decode_attention_backend", "prefill_attention_backend")
    if not _uses(args, "cutedsl_mla", *fields):
        return
    args.require(
        args.prefill_attention_backend != "cutedsl_mla",
        "attention.backend-decode-only",
        "cutedsl_mla only decodes; it cannot be the prefill backend",
        "CuteDSL MLA only supports decoding for now",
        "prefill_attention_backend",
    )
    if not args.machine.is_sm100:
        args.stop(
            "attention.backend-hardware",
            f"cutedsl_mla needs SM100, this is {args.machine.name}",
            "CuteDSL MLA backend is only supported on Blackwell GPUs (SM100). Please use a "
            "different backend.",
            *fields,
        )
    _force_page_size(args, 64, (32, 64), "CuteDSL MLA")
    if args.kv_cache_dtype not in ("fp8_e4m3", "bf16", "bfloat16", "auto"):
        args.stop(
            "attention.backend-kv-dtype",
            f"cutedsl_mla supports fp8_e4m3, bf16 and auto, got {args.kv_cache_dtype}",
            "CuteDSL MLA backend only supports kv-cache-dtype of fp8_e4m3, bf16, or auto.",
            "kv_cache_dtype",
        )
    if args.prefill_attention_backend is None:
        args.set("prefill_attention_backend", "trtllm_mla", "cutedsl_mla only decodes")


def _check_trtllm_mha(args: ServerArgs) -> None:
    fields = ["attention_backend", "decode_attention_backend", "prefill_attention_backend"]
    in_use = args.since("0.5.1") and _uses(args, "trtllm_mha", *fields)
    if in_use:
        _check_trtllm_mha_hardware(args)
    if args.since("0.5.17"):
        fields.append("speculative_draft_attention_backend")
        in_use = _uses(args, "trtllm_mha", *fields)
    if in_use:
        allowed = (16, 32, 64, 128) if args.since("0.5.17") else (16, 32, 64)
        _force_page_size(args, 64, allowed, "TensorRT-LLM MHA")
    if args.since("0.5.17") and _uses(args, "hpc_ops", *fields[:3]):
        _force_page_size(args, 64, (64,), "HPC-Ops attention")


def _check_trtllm_mha_hardware(args: ServerArgs) -> None:
    machine = args.machine
    anywhere = machine.is_sm90 or machine.is_sm100 or machine.is_sm120
    topic = "attention.backend-hardware"
    if not args.since("0.5.10"):
        if not machine.is_sm100:
            args.stop(
                topic,
                f"trtllm_mha needs SM100, this is {machine.name}",
                "TRTLLM MHA backend is only supported on Blackwell GPUs (SM100). Please use a "
                "different backend.",
                "attention_backend",
                "prefill_attention_backend",
                "decode_attention_backend",
            )
        return
    prefill, decode = attention_backends(args)
    if prefill == "trtllm_mha":
        if args.since("0.5.19"):
            allowed = anywhere
            said = (
                "TRTLLM MHA backend for prefill requires Hopper (SM90), Blackwell (SM100), or "
                "SM120 GPUs. Please use a different prefill backend."
            )
        else:
            allowed = machine.is_sm100
            said = (
                "TRTLLM MHA backend for prefill is only supported on Blackwell GPUs (SM100). "
                "Please use a different prefill backend."
            )
        if not allowed:
            args.stop(
                topic,
                f"trtllm_mha cannot prefill on {machine.name} in this release",
                said,
                "attention_backend",
                "prefill_attention_backend",
            )
        if args.since("0.5.19"):
            _check_trtllm_prefill(args)
    if decode == "trtllm_mha" and not anywhere:
        args.stop(
            topic,
            f"trtllm_mha cannot decode on {machine.name}",
            "TRTLLM MHA backend for decode is only supported on Hopper (SM90), Blackwell (SM100) "
            "and (SM120) GPUs. Please use a different decode backend.",
            "attention_backend",
            "decode_attention_backend",
        )


def _check_trtllm_prefill(args: ServerArgs) -> None:
    if args.machine.is_sm120 and args.kv_cache_dtype == "fp8_e4m3":
        args.stop(
            "attention.backend-kv-dtype",
            "trtllm_mha cannot prefill an fp8_e4m3 KV cache on SM120",
            "TRTLLM FMHAv2 prefill on SM120 does not support fp8_e4m3 KV cache or skip-softmax.",
            "kv_cache_dtype",
            "attention_backend",
        )
    if not args.machine.is_sm100 and args.attn_cp_size > 1:
        args.stop(
            "attention.backend-context-parallel",
            "trtllm_mha prefills context-parallel only on SM100",
            "Prefill context parallelism with the TRTLLM MHA prefill backend requires SM100 "
            "(trtllm-gen context kernel): the SM90/SM120 fmha_v2 prefill path does not implement "
            "CP shard masking.",
            "attn_cp_size",
            "attention_backend",
        )


def _replace_fa3_for_e5m2(args: ServerArgs) -> None:
    if not args.since("0.5.4.post1"):
        return
    if args.attention_backend == "fa3" and args.kv_cache_dtype == "fp8_e5m2":
        args.set("attention_backend", "triton", "fa3 has no fp8_e5m2")
        args.tell(
            "attention.fa3-e5m2",
            "fa3 does not support an fp8_e5m2 KV cache; triton is used",
            "FlashAttention3 only supports fp8_e4m3 if using FP8; Setting attention backend to "
            "triton.",
            "attention_backend",
            "kv_cache_dtype",
        )


def _check_fa4(args: ServerArgs) -> None:
    if not args.since("0.5.4"):
        return
    if not args.since("0.5.8") and "fa4" in (args.attention_backend, args.decode_attention_backend):
        args.stop(
            "attention.backend-prefill-only",
            "fa4 only prefills in this release",
            "FA4 backend is only supported for prefill. Please use `--prefill-attention-backend "
            "fa4` instead.",
            "attention_backend",
            "decode_attention_backend",
        )
    fields = ["prefill_attention_backend"]
    if args.since("0.5.15"):
        fields += ["attention_backend", "decode_attention_backend"]
    if not _uses(args, "fa4", *fields):
        return
    if args.since("0.5.5.post1") and args.target.attention == "MLA":
        return
    if args.since("0.5.10") and not args.machine.is_sm100:
        return
    if args.since("0.5.15") and (args.speculative_eagle_topk or 0) > 1:
        return
    _force_page_size(args, 128, (128,), "FA4")


def _check_dual_chunk(args: ServerArgs) -> None:
    if args.since("0.5.20"):
        return
    if (
        args.since("0.5.4.post1")
        and args.target.config.stated("dual_chunk_attention_config") is not None
        and args.attention_backend != "dual_chunk_flash_attn"
    ):
        args.stop(
            "attention.dual-chunk",
            f"the target needs dual_chunk_flash_attn, got {args.attention_backend}",
            "Dual chunk attention is enabled, but attention backend is set to "
            f"{args.attention_backend}. Please set it to 'dual_chunk_flash_attn'.",
            "attention_backend",
        )
    if args.since("0.5.1") and args.attention_backend == "dual_chunk_flash_attn":
        args.set("enable_mixed_chunk", False, "dual_chunk_flash_attn does not support it")
        args.set("disable_radix_cache", True, "dual_chunk_flash_attn does not support it")
