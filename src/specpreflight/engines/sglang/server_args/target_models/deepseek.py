"""DeepSeek V3 and what is built like it: Kimi K2, Mistral Large 3, GLM with sparse attention.

Restates `server_args.py:_handle_model_specific_adjustments` (0.5.3 to 0.5.18),
`arg_groups/overrides.py` (0.5.15 to 0.5.18), `arg_groups/model_hook.py` and
`arg_groups/model_overrides/deepseek_v2.py` (0.5.19 and newer). Prefill context parallelism of
these models is not restated.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from specpreflight.engines.sglang.server_args.state import ServerArgs
from specpreflight.engines.sglang.server_args.target_models.common import (
    choose_backend,
    is_backend_unset,
    is_unquantized_by_request,
    quantization_method,
)

#: The family, with the release that added each member.
FAMILY: Final = {
    "DeepseekV3ForCausalLM": "0.5.3",
    "MistralLarge3ForCausalLM": "0.5.6.post1",
    "PixtralForConditionalGeneration": "0.5.6.post1",
    "KimiK25ForConditionalGeneration": "0.5.9",
    "GlmMoeDsaForCausalLM": "0.5.9",
    "DeepseekV32ForCausalLM": "0.5.12",
    "LongcatFlashForCausalLM": "0.5.16",
    "HYV4ForCausalLM": "0.5.20",
    "Glm5NextForConditionalGeneration": "0.5.20",
}

#: The members whose config may name a sparse indexer (`index_topk`), with the same releases.
SPARSE: Final = {
    **{name: since for name, since in FAMILY.items() if not name.startswith("Kimi")},
    "DeepseekV32ForCausalLM": "0.5.3",
}


def is_family(args: ServerArgs) -> bool:
    """Return whether the target belongs to the family in this release."""
    added = FAMILY.get(args.architecture)
    if args.architecture == "DeepseekV32ForCausalLM" and not args.since("0.5.6"):
        return is_sparse(args)
    return added is not None and args.since(added)


def is_sparse(args: ServerArgs) -> bool:
    """Restate `is_deepseek_nsa`, `is_deepseek_dsa`: the target has a sparse indexer."""
    added = SPARSE.get(args.architecture)
    if added is None or not args.since(added):
        return False
    return args.target.config.stated("index_topk") is not None


def handle_deepseek(args: ServerArgs) -> None:
    """Choose attention, pages, KV type, quantisation and MoE runner."""
    if args.architecture in ("MistralLarge3ForCausalLM", "PixtralForConditionalGeneration"):
        args.set("dtype", "bfloat16", "the model needs it")
    if is_sparse(args):
        _handle_sparse(args)
    elif args.since("0.5.3.post2") and args.machine.is_sm100 and is_backend_unset(args):
        choose_backend(args, "trtllm_mla", "the default for DeepSeek's MLA on SM100")
    chooses = args.since("0.5.6") or (args.since("0.5.3.post2") and not is_sparse(args))
    if chooses and args.machine.is_sm100:
        _choose_on_sm100(args)
    if args.since("0.5.7"):
        _choose_draft_moe_runner(args)


def _handle_sparse(args: ServerArgs) -> None:
    name = "dsa" if args.since("0.5.13") else "nsa"
    if is_backend_unset(args):
        choose_backend(args, name, "DeepSeek's sparse attention")
    if args.since("0.5.13"):
        _check_two_batch_overlap(args)
    if not args.since("0.5.8"):
        args.set("enable_dp_attention", True, "sparse attention runs with DP attention")
        if not args.since("0.5.6"):
            args.set("dp_size", args.tp_size, "sparse attention runs with DP attention")
    size = 1 if args.since("0.5.8") and args.machine.is_rocm else 64
    before = args.page_size
    args.set("page_size", size, "DeepSeek's sparse attention needs it")
    if before not in (None, size):
        args.tell(
            "cache.page-size-forced",
            f"page size {before} becomes {size}: DeepSeek's sparse attention needs it",
            f"Setting page size to {size} for DeepSeek {'DSA' if args.since('0.5.8') else 'NSA'}.",
            "page_size",
        )
    if not args.since("0.5.3.post1"):
        args.set("mem_fraction_static", 0.8, "DeepSeek's sparse attention")
    _choose_kv_type(args)


def _choose_kv_type(args: ServerArgs) -> None:
    blackwell = args.machine.capability[0] >= 10
    if not args.since("0.5.4.post2"):
        if blackwell:
            args.set("kv_cache_dtype", "fp8_e4m3", "sparse attention on Blackwell")
        return
    if args.kv_cache_dtype == "auto":
        kind = "fp8_e4m3" if blackwell else "bfloat16"
        args.set("kv_cache_dtype", kind, "the default of sparse attention here")
    elif args.kv_cache_dtype == "bf16":
        args.set("kv_cache_dtype", "bfloat16", "another name of bf16")
    what = "DSA" if args.since("0.5.8") else "NSA"
    args.require(
        args.kv_cache_dtype in ("bfloat16", "fp8_e4m3"),
        "attention.backend-kv-dtype",
        f"sparse attention needs a bfloat16 or fp8_e4m3 KV cache, got {args.kv_cache_dtype}",
        f"DeepSeek {what} only supports bf16/bfloat16 or fp8_e4m3 kv_cache_dtype",
        "kv_cache_dtype",
    )


def _check_two_batch_overlap(args: ServerArgs) -> None:
    config = args.target.config
    pattern = config.stated("index_topk_pattern")
    shared = (config.stated("index_topk_freq") or 1) > 1 or (pattern is not None and "S" in pattern)
    if args.enable_two_batch_overlap and shared:
        args.stop(
            "parallelism.two-batch-overlap",
            "two-batch overlap does not support layers that share their sparse indices",
            "--enable-two-batch-overlap is not supported with DSA index-topk sharing "
            "(index_topk_freq > 1 or an index_topk_pattern containing shared layers): the TBO op "
            "path does not propagate topk indices across layers, so shared layers would run sparse "
            "attention without indices.",
            "enable_two_batch_overlap",
        )


def _choose_on_sm100(args: ServerArgs) -> None:
    method = quantization_method(args)
    if not args.since("0.5.5"):
        _choose_before_checkpoint_quantization(args)
        return
    if args.quantization is None and not is_unquantized_by_request(args):
        if method is not None:
            args.set("quantization", method, "the checkpoint's own quantisation")
        elif args.since("0.5.11"):
            if args.architecture == "DeepseekV3ForCausalLM":
                args.unknown.append(("quantization", "fp8 if the checkpoint's weights are FP8"))
        elif args.architecture == "DeepseekV3ForCausalLM":
            args.set("quantization", "fp8", "the default for DeepSeek V3 on SM100")
    accepted: tuple[str | None, ...] = ("fp8", "modelopt_fp8", "modelopt_fp4")
    if args.since("0.5.10"):
        accepted += ("modelopt_mixed",)
    if args.since("0.5.12"):
        accepted += (None,)
    fits = args.quantization in accepted or (args.since("0.5.10") and _is_int4(args))
    if args.since("0.5.17") and args.architecture.startswith("LongcatFlash"):
        fits = False
    if fits and args.moe_a2a_backend == "none" and args.moe_runner_backend == "auto":
        args.set("moe_runner_backend", "flashinfer_trtllm", "the default for DeepSeek on SM100")


def _choose_before_checkpoint_quantization(args: ServerArgs) -> None:
    if args.moe_runner_backend != "auto":
        return
    if args.since("0.5.4.post2") and args.moe_a2a_backend != "none":
        return
    if not args.since("0.5.4.post1") and args.quantization != "modelopt_fp4":
        return
    args.set("moe_runner_backend", "flashinfer_trtllm", "the default for DeepSeek on SM100")
    if args.since("0.5.4.post1") and args.quantization is None:
        args.set("quantization", "fp8", "the default for DeepSeek V3 on SM100")


def _is_int4(args: ServerArgs) -> bool:
    """Return whether the checkpoint is quantised as Kimi K2 Thinking is."""
    config = args.target.config.get("quantization_config")
    if not isinstance(config, Mapping) or config.get("quant_method") != "compressed-tensors":
        return False
    groups: Any = config.get("config_groups") or {}
    weights = (groups.get("group_0") or {}).get("weights") or {}
    wanted = {"num_bits": 4, "group_size": 32, "strategy": "group", "type": "int"}
    return all(weights.get(key) == value for key, value in wanted.items())


def _choose_draft_moe_runner(args: ServerArgs) -> None:
    """Give an FP4 DeepSeek's MTP draft a MoE runner of its own."""
    where = args.machine.is_rocm if args.since("0.5.10") else args.machine.is_sm100
    if not where or args.quantization != "modelopt_fp4" or args.speculative_algorithm != "EAGLE":
        return
    if None not in (args.speculative_moe_runner_backend, args.speculative_moe_a2a_backend):
        return
    if not args.variable_is_true("SGLANG_NVFP4_CKPT_FP8_NEXTN_MOE"):
        args.set("speculative_moe_runner_backend", "triton", "the FP4 checkpoint's draft is BF16")
        args.set("speculative_moe_a2a_backend", "none", "the FP4 checkpoint's draft is BF16")
        return
    args.set("speculative_moe_runner_backend", "deep_gemm", "SGLANG_NVFP4_CKPT_FP8_NEXTN_MOE")
    args.set("speculative_moe_a2a_backend", "deepep", "SGLANG_NVFP4_CKPT_FP8_NEXTN_MOE")
    if args.since("0.5.10") and args.ep_size == 1:
        args.stop(
            "parallelism.draft-moe-a2a",
            "the FP8 draft of an FP4 checkpoint needs expert parallelism",
            "Invalid configuration: 'deep_gemm' speculative MoE runner backend with 'deepep' a2a "
            "backend requires expert parallelism (ep_size > 1). Current ep_size is "
            f"{args.ep_size}. Please set --ep-size > 1 (e.g., --ep-size 8) to use this "
            "configuration, or change --speculative-moe-a2a-backend to 'none' if expert "
            "parallelism is not needed.",
            "ep_size",
        )


def handle_deepseek_v4(args: ServerArgs) -> None:
    """Fix DeepSeek V4's attention, pages and KV type, and check its algorithm (0.5.12, newer)."""
    args.set("attention_backend", "dsv4", "DeepSeek V4 has its own")
    args.set("page_size", 256, "DeepSeek V4 needs it")
    if args.kv_cache_dtype == "auto":
        args.set("kv_cache_dtype", "fp8_e4m3", "the default for DeepSeek V4")
    kinds = ("fp8_e4m3", "bfloat16") if args.since("0.5.14") else ("fp8_e4m3",)
    args.require(
        args.kv_cache_dtype in kinds,
        "attention.backend-kv-dtype",
        f"DeepSeek V4 needs a KV cache in {' or '.join(kinds)}, got {args.kv_cache_dtype}",
        f"{args.kv_cache_dtype} is not supported for {args.architecture}",
        "kv_cache_dtype",
    )
    if args.max_running_requests is None:
        args.set("max_running_requests", 256, "the default for DeepSeek V4")
    if args.speculative_algorithm is not None:
        _check_deepseek_v4_algorithm(args)


def _check_deepseek_v4_algorithm(args: ServerArgs) -> None:
    algorithm, topk, name = (
        args.speculative_algorithm,
        args.speculative_eagle_topk,
        args.architecture,
    )
    allowed: tuple[str, ...] = ("EAGLE",)
    said = "Only EAGLE speculative algorithm is supported"
    if args.since("0.5.16"):
        allowed = ("EAGLE", "DSPARK")
        said = "Only EAGLE and DSPARK speculative algorithms are supported"
    args.require(
        algorithm in allowed,
        "arguments.algorithm-target",
        f"DeepSeek V4 runs with {' or '.join(allowed)}, got {algorithm}",
        f"{said} for {name}",
        "speculative_algorithm",
    )
    if algorithm == "EAGLE" or not args.since("0.5.16"):
        args.require(
            topk == 1,
            "arguments.mtp-topk",
            f"DeepSeek V4's MTP needs top-k 1, got {topk}",
            f"Only EAGLE speculative algorithm with topk == 1 is supported for {name}",
            "speculative_eagle_topk",
        )
    if not args.since("0.5.14"):
        args.environment["SGLANG_ENABLE_SPEC_V2"] = "True"
