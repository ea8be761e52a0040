"""The attention backend that the engine prefers where none is given (0.5.4.post1 and newer).

Restates `server_args.py:_handle_attention_backend_compatibility` (0.5.4.post1 to 0.5.9),
`_get_default_attn_backend` (0.5.10 to 0.5.18) and `arg_groups/attention_hook.py` (0.5.19 and
newer). Up to 0.5.4 the model runner chooses, after the arguments are handled.
"""

from __future__ import annotations

from typing import Final

from specpreflight.engines.sglang.server_args.state import ServerArgs

#: MHA targets that default to FA3 on Hopper, with the release that added them (to 0.5.7).
FA3_ARCHITECTURES: Final = {
    "Llama4ForConditionalGeneration": "0.4.6.post5",
    "LlamaForCausalLM": "0.4.6.post5",
    "Gemma2ForCausalLM": "0.4.6.post5",
    "Gemma3ForConditionalGeneration": "0.4.6.post5",
    "Qwen2ForCausalLM": "0.4.6.post5",
    "Qwen3ForCausalLM": "0.4.6.post5",
    "Qwen3MoeForCausalLM": "0.4.6.post5",
    "Glm4MoeForCausalLM": "0.4.9.post5",
    "Step3VLForConditionalGeneration": "0.4.10.post1",
    "Glm4vMoeForConditionalGeneration": "0.5.1",
    "Olmo2ForCausalLM": "0.5.4",
    "Qwen3VLForConditionalGeneration": "0.5.6.post1",
    "Qwen3VLMoeForConditionalGeneration": "0.5.6.post1",
    "Glm4vForConditionalGeneration": "0.5.6.post1",
}

#: Sliding-window targets with attention sinks, beside GPT-OSS (0.5.19 and newer).
SINK_ARCHITECTURES: Final = ("GraniteSWAForCausalLM", "GraniteMoeSWAForCausalLM")


def fill_default_backend(args: ServerArgs) -> None:
    """Choose `attention_backend` where none is given (0.5.4.post1 and newer)."""
    prefill = args.prefill_attention_backend
    if prefill is not None and prefill == args.decode_attention_backend:
        args.set("attention_backend", prefill, "prefill and decode backend are both given")
    elif args.attention_backend is None:
        backend, why = default_backend(args)
        args.set("attention_backend", backend, why)


def default_backend(args: ServerArgs) -> tuple[str, str]:
    """Return the backend that the engine prefers here, and why."""
    if args.since("0.5.10") and args.architecture == "WhisperForConditionalGeneration":
        return "flashinfer", "the default for Whisper"
    if args.target.attention == "MLA":
        return _default_mla_backend(args)
    return _default_mha_backend(args)


def _default_mla_backend(args: ServerArgs) -> tuple[str, str]:
    machine = args.machine
    if machine.is_sm90:
        return "fa3", "the default for MLA models on Hopper"
    if machine.is_sm100:
        return "flashinfer", "the default for MLA models on SM100"
    if machine.is_rocm:
        args.unknown.append(("attention_backend", "aiter or triton, by the number of KV heads"))
        return "aiter", "the default for MLA models on ROCm"
    return "triton", f"the default for MLA models on {machine.name}"


def _default_mha_backend(args: ServerArgs) -> tuple[str, str]:
    machine, chain = args.machine, _is_chain_without_pages(args)
    algorithm, topk = args.speculative_algorithm, args.speculative_eagle_topk
    if machine.is_sm90 and chain and _prefers_fa3(args):
        return "fa3", "the default on Hopper without a tree or pages"
    if chain and _prefers_trtllm_mha(args):
        settled = algorithm is None or topk is not None
        if args.since("0.5.23") and str(algorithm).upper() == "DFLASH":
            settled = True
        if settled or not args.since("0.5.7"):
            if args.since("0.5.17") and _has_asymmetric_kv(args):
                return "fa4", "keys and values differ in width on SM100"
            return "trtllm_mha", "the default on SM100 without a tree or pages"
    if machine.is_rocm:
        return "aiter", "the default on ROCm"
    if args.since("0.5.11") and has_attention_sinks(args):
        return "triton", "FlashInfer has no attention sinks"
    return "flashinfer", f"the default on {machine.name}"


def _prefers_fa3(args: ServerArgs) -> bool:
    if args.since("0.5.8"):
        return True
    added = FA3_ARCHITECTURES.get(args.architecture)
    return added is not None and args.since(added)


def _prefers_trtllm_mha(args: ServerArgs) -> bool:
    if args.since("0.5.7"):
        return args.machine.is_sm100
    return args.since("0.5.6.post1") and args.machine.is_blackwell


def _is_chain_without_pages(args: ServerArgs) -> bool:
    """Restate `is_no_spec_infer_or_topk_one`; an unset top-k counts as no speculation."""
    topk, page_size = args.speculative_eagle_topk, args.page_size
    return topk is None or (topk == 1 and page_size in (1, None))


def _has_asymmetric_kv(args: ServerArgs) -> bool:
    head, value = args.target.text.get("head_dim"), args.target.text.get("v_head_dim")
    return isinstance(head, int) and isinstance(value, int) and head != value


def has_attention_sinks(args: ServerArgs) -> bool:
    """Restate `ModelConfig._detect_attention_sinks`."""
    text = args.target.text
    if args.architecture == "GptOssForCausalLM":
        return True
    if args.since("0.5.19") and args.architecture in SINK_ARCHITECTURES:
        return True
    if args.architecture in ("MiMoV2FlashForCausalLM", "MiMoV2ForCausalLM", "MiMoV2MTP"):
        flags = ("add_swa_attention_sink_bias", "add_full_attention_sink_bias")
        return any(text.get(flag) is True for flag in flags)
    return args.since("0.5.20") and text.get("learnable_sink") is True
