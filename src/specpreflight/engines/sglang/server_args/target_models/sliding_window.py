"""Targets with sliding windows, sinks, or several MTP layers: backends and hybrid memory.

Restates `server_args.py:model_specific_adjustments` (0.5.1, 0.5.2),
`_handle_model_specific_adjustments` (0.5.3 to 0.5.18), `arg_groups/overrides.py` (0.5.15 to 0.5.18)
and `arg_groups/model_overrides/` (0.5.19 and newer).
"""

from __future__ import annotations

from typing import Final

from specpreflight.engines.sglang.server_args.speculative.common import (
    attention_backends,
    uses_attention_data_parallelism,
)
from specpreflight.engines.sglang.server_args.state import ServerArgs
from specpreflight.engines.sglang.server_args.target_models.common import (
    choose_backend,
    is_backend_unset,
    requires_backends,
)

GEMMA: Final = (
    "Gemma2ForCausalLM",
    "Gemma3ForCausalLM",
    "Gemma3ForConditionalGeneration",
    "Gemma3nForCausalLM",
    "Gemma3nForConditionalGeneration",
)
GEMMA4: Final = (
    "Gemma4ForConditionalGeneration",
    "Gemma4ForCausalLM",
    "Gemma4UnifiedForConditionalGeneration",
)
#: Backends that Gemma 4 accepts, in the engine's order, in ascending order of release.
GEMMA4_ACCEPTED: Final = (
    ("0.5.13", ("trtllm_mha", "triton", "intel_xpu")),
    ("0.5.18", ("trtllm_mha", "triton", "ascend", "intel_xpu", "intel_amx")),
    ("0.5.20", ("trtllm_mha", "triton", "ascend", "intel_xpu", "intel_amx", "aiter")),
    ("0.5.22", ("trtllm_mha", "triton", "fa4", "ascend", "intel_xpu", "intel_amx", "aiter")),
)
EXAONE: Final = ("Exaone4ForCausalLM", "ExaoneMoEForCausalLM")


def is_multi_layer_mtp(args: ServerArgs) -> bool:
    """Return whether EAGLE means multi-layer EAGLE for this target."""
    name = args.architecture
    if name == "MiMoV2ForCausalLM":
        return args.since("0.5.11")
    if "MiMoV2FlashForCausalLM" in name:
        return args.since("0.5.7")
    if "Step3p5ForCausalLM" in name:
        return args.since("0.5.9")
    if name in ("GigaChat35ForCausalLM", "GigaChat35ForCausalLMNextN"):
        return args.since("0.5.21")
    return "Step3p7ForConditionalGeneration" in name and args.since("0.5.13")


def handle_multi_layer_mtp(args: ServerArgs) -> None:
    """Turn on multi-layer EAGLE, and the backends of MiMo V2 and Step 3.5."""
    name = args.architecture
    if args.since("0.5.13") and "Step3p" in name and is_backend_unset(args):
        if args.machine.is_blackwell:
            choose_backend(args, "fa4", f"the default for {name} on Blackwell")
        elif args.machine.is_sm90:
            choose_backend(args, "fa3", f"the default for {name} on Hopper")
    mimo_on_sm100 = "MiMoV2" in name and args.machine.is_sm100
    if args.since("0.5.23") and mimo_on_sm100 and is_backend_unset(args):
        choose_backend(args, "fa4", f"the default for {name} on SM100")
    if args.speculative_algorithm == "EAGLE":
        args.set("enable_multi_layer_eagle", True, f"{name} has several MTP layers")
        if not args.since("0.5.11") and not args.variable_is_true("SGLANG_ENABLE_SPEC_V2"):
            args.environment["SGLANG_ENABLE_SPEC_V2"] = "True"
            args.tell(
                "arguments.spec-v2-forced",
                "SGLANG_ENABLE_SPEC_V2 is turned on for multi-layer EAGLE",
                "Spec v2 is enabled for multi-layer EAGLE speculative decoding.",
                "speculative_algorithm",
            )
    hybrid_memory = "Step3p" in name or not args.since("0.5.15")
    if args.enable_hierarchical_cache and hybrid_memory and "GigaChat" not in name:
        args.set("swa_full_tokens_ratio", 1.0, "the hierarchical cache needs it")
        args.set("disable_hybrid_swa_memory", True, "the hierarchical cache needs it")


def handle_gemma(args: ServerArgs) -> None:
    """Turn hybrid sliding-window memory off for Gemma 2 and 3."""
    args.set("disable_hybrid_swa_memory", True, "not supported with Gemma yet")


def handle_gemma4(args: ServerArgs) -> None:
    """Choose and check Gemma 4's attention backend (0.5.11 and newer)."""
    chosen = "triton"
    if args.since("0.5.13"):
        if args.machine.is_sm100 and not _is_fp4_moe(args):
            chosen = "trtllm_mha"
        if args.attention_backend is None:
            choose_backend(args, chosen, "the default for Gemma 4")
        accepted = next(names for since, names in reversed(GEMMA4_ACCEPTED) if args.since(since))
        prefill, decode = attention_backends(args)
        requires_backends(
            args,
            accepted,
            "Gemma 4",
            f"Gemma4 only supports {', '.join(accepted[:-1])}, or {accepted[-1]} attention "
            f"backend, got prefill={prefill}, decode={decode}",
        )
    elif args.architecture == GEMMA4[0] and is_backend_unset(args):
        choose_backend(args, chosen, "the default for Gemma 4")


def _is_fp4_moe(args: ServerArgs) -> bool:
    if args.since("0.5.15") or args.target.quantization != "modelopt_fp4":
        return False
    return bool(args.target.text.stated("enable_moe_block"))


def handle_olmo2(args: ServerArgs) -> None:
    """Choose and check OLMo 2's attention backend (0.5.4 and newer)."""
    args.set("disable_hybrid_swa_memory", True, "not supported with OLMo yet")
    if args.attention_backend is None:
        choose_backend(args, _sliding_default(args), "the default for OLMo")
    args.require(
        args.attention_backend != "flashinfer",
        "attention.model-backend",
        "OLMo 3 is slow with FlashInfer; the engine refuses it",
        "FlashInfer backend can significantly degrade the performance of Olmo3 models.",
        "attention_backend",
    )


def _sliding_default(args: ServerArgs) -> str:
    if args.machine.is_sm100:
        return "trtllm_mha"
    return "fa3" if args.machine.is_cuda else "triton"


def handle_exaone(args: ServerArgs) -> None:
    """Check EXAONE 4's attention backend (0.5.9 and newer)."""
    if args.target.config.stated("sliding_window_pattern") is None:
        return
    args.set("disable_hybrid_swa_memory", True, "not supported with EXAONE yet")
    if args.since("0.5.22") and args.attention_backend is None:
        choose_backend(args, _sliding_default(args), "the default for EXAONE")
    accepted = ["fa3", "triton", "trtllm_mha"]
    args.require(
        args.attention_backend in accepted,
        "attention.model-backend",
        f"EXAONE needs one of {', '.join(accepted)}, got {args.attention_backend}",
        f"One of the attention backends in {accepted} is required for {args.architecture}, but got "
        f"{args.attention_backend}",
        "attention_backend",
    )


def handle_moss_vl(args: ServerArgs) -> None:
    """Choose and check MOSS-VL's prefill backend (0.5.11 and newer)."""
    if is_backend_unset(args):
        args.set("prefill_attention_backend", "flashinfer", "the default for MOSS-VL")
    prefill, _ = attention_backends(args)
    args.require(
        prefill == "flashinfer",
        "attention.model-backend",
        f"MOSS-VL needs flashinfer to prefill, got {prefill}",
        "MossVLForConditionalGeneration requires flashinfer prefill attention backend for cross-"
        "attention custom mask support.",
        "prefill_attention_backend",
        "attention_backend",
    )


def handle_iquest_q1(args: ServerArgs) -> None:
    """Check IQuest-Q1's attention and its MTP draft, and choose FA3 (0.5.21 and newer)."""
    algorithm = args.speculative_algorithm
    given = (
        args.attention_backend,
        args.prefill_attention_backend,
        args.decode_attention_backend,
    )
    for fails, said in (
        (
            any(backend not in (None, "fa3") for backend in given),
            "IQuestQ1 applies its attention sink from the softmax LSE and requires FA3 attention "
            "for both prefill and decode.",
        ),
        (
            algorithm is not None and algorithm.upper() not in ("EAGLE", "NEXTN"),
            "IQuest Q1 MTP requires serial EAGLE or NEXTN drafting.",
        ),
        (
            algorithm is not None and args.speculative_draft_attention_backend not in (None, "fa3"),
            "IQuestQ1 requires FA3 attention for the MTP draft.",
        ),
        (
            (args.speculative_eagle_topk or 1) > 1,
            "IQuestQ1 speculative decoding requires --speculative-eagle-topk 1.",
        ),
        (
            bool(args.enable_multi_layer_eagle),
            "IQuest Q1 MTP drafting does not support multi-layer EAGLE.",
        ),
        (
            uses_attention_data_parallelism(args),
            "IQuest Q1 does not support DP attention.",
        ),
        (args.pp_size > 1, "IQuest Q1 does not support pipeline parallelism."),
    ):
        if fails:
            args.stop("attention.model-backend", said.rstrip("."), said, "attention_backend")
    if args.attention_backend is None:
        choose_backend(args, "fa3", "IQuest-Q1 needs it")


def handle_minimax_m3(args: ServerArgs) -> None:
    """Choose MiniMax M3's backend and pages (0.5.15 and newer)."""
    machine = args.machine
    backend = "fa4" if machine.is_sm100 else "fa3" if machine.is_sm90 else None
    if backend is None:
        return
    if is_backend_unset(args):
        choose_backend(args, backend, "the default for MiniMax M3")
    if args.page_size is None and args.attention_backend == backend:
        args.set("page_size", 128, f"MiniMax M3 with {backend}")
