"""Deprecated flags and missing values, before anything is decided.

Restates the head of `server_args.py:__post_init__` (to 0.5.2), `_handle_deprecated_args` and
`_handle_missing_default_values` (0.5.3 and newer), and the early steps of
`arg_groups/pipeline.py` (0.5.19 and newer), as far as a launch with speculation depends on them.
"""

from __future__ import annotations

from typing import Final

from specpreflight.engines.sglang.server_args.state import ServerArgs

#: The MoE runner that a deprecated flag stands for (0.5.1, 0.5.2).
MOE_RUNNER_FLAGS: Final = {
    "enable_triton_kernel_moe": "triton_kernel",
    "enable_flashinfer_cutlass_moe": "flashinfer_cutlass",
    "enable_flashinfer_trtllm_moe": "flashinfer_trtllm",
    "enable_flashinfer_mxfp4_moe": "flashinfer_mxfp4",
}

BACKEND_FIELDS: Final = (
    "attention_backend",
    "decode_attention_backend",
    "prefill_attention_backend",
    "speculative_draft_attention_backend",
)


def handle_deprecated_moe_flags(args: ServerArgs) -> None:
    """Translate the MoE flags of 0.4 (to 0.5.2)."""
    if args.enable_ep_moe and not (args.since("0.4.10") and not args.since("0.4.10.post2")):
        args.set("ep_size", args.tp_size, "`--enable-ep-moe` spreads experts over all of tp")
    if args.since("0.4.10.post2") and args.enable_deepep_moe:
        args.set("moe_a2a_backend", "deepep", "`--enable-deepep-moe` is its old name")
    if args.since("0.5.1"):
        for field, runner in MOE_RUNNER_FLAGS.items():
            if getattr(args, field):
                args.set("moe_runner_backend", runner, f"`--{field.replace('_', '-')}` is given")


def handle_deprecated_args(args: ServerArgs) -> None:
    """Rename attention backends that have a new name (0.5.12 and newer)."""
    renamed = {"compressed": "dsv4"} if args.since("0.5.12") else {}
    if args.since("0.5.23"):
        renamed["tokenspeed_mla"] = "cutedsl_mla"
        _replace_tokenspeed(args)
    for field in BACKEND_FIELDS:
        old = getattr(args, field)
        new = renamed.get(str(old))
        if new is None:
            continue
        if new == "cutedsl_mla" and field == "prefill_attention_backend":
            new = "trtllm_mla"
        args.set(field, new, f"{old} is deprecated")
        args.tell(
            "attention.backend-renamed",
            f"`--{field.replace('_', '-')}` {old} is deprecated and becomes {new}",
            f"--{field.replace('_', '-')}={old} is deprecated; use '{renamed[str(old)]}' instead.",
            field,
        )


def _replace_tokenspeed(args: ServerArgs) -> None:
    if "tokenspeed_mla" not in (args.attention_backend, args.decode_attention_backend):
        return
    if args.kv_cache_dtype != "fp8_e4m3":
        args.set("kv_cache_dtype", "fp8_e4m3", "tokenspeed_mla needs it")
        args.tell(
            "attention.backend-kv-dtype",
            "the KV cache becomes fp8_e4m3: tokenspeed_mla needs it",
            "tokenspeed_mla required FP8 KV; setting --kv-cache-dtype=fp8_e4m3.",
            "kv_cache_dtype",
        )
    if args.speculative_algorithm is not None and args.speculative_attention_mode == "prefill":
        args.set("speculative_attention_mode", "decode", "tokenspeed_mla needs it")


def handle_deprecated_dp_attention(args: ServerArgs) -> None:
    """Translate `--enable-dp-attention` into `attn_dp_size` (0.5.22 and newer)."""
    if not args.enable_dp_attention:
        return
    if args.attn_dp_size == 1:
        args.set("attn_dp_size", args.dp_size, "`--enable-dp-attention` with `--dp-size`")
        args.set("dp_size", 1, "`--enable-dp-attention` moves it to attn_dp_size")
    args.set("enable_dp_attention", False, "attn_dp_size says it from 0.5.22 on")


def handle_missing_default_values(args: ServerArgs) -> None:
    """Fill what the engine fills without looking at the model."""
    if args.device is None:
        device = "cuda" if args.machine.is_cuda or args.machine.is_rocm else args.machine.platform
        args.set("device", device, "the machine's device")
    if args.since("0.5.11"):
        args.set("device", str(args.device).split(":")[0], "the device without its number")
    if args.since("0.5.7") and args.mamba_scheduler_strategy == "auto":
        args.set("mamba_scheduler_strategy", "no_buffer", "what `auto` means here")
    if args.since("0.5.7"):
        _fill_draft_quantization(args)


def _fill_draft_quantization(args: ServerArgs) -> None:
    field = "speculative_draft_model_quantization"
    given = args.speculative_draft_model_quantization
    if given is None:
        args.set(field, args.quantization, "the target's `--quantization`")
    elif given == "unquant":
        args.set(field, None, "`unquant` means none")
    if args.since("0.5.15"):
        if args.quantization == "unquant":
            args.set("quantization", None, "`unquant` means none")
        if args.speculative_draft_model_quantization == "unquant":
            args.set(field, None, "`unquant` means none")


def handle_cpu_backends(args: ServerArgs) -> None:
    """Choose the attention backend of a CPU or an HPU."""
    if args.device == "hpu":
        args.set("attention_backend", "torch_native", "the only backend on HPU")
        args.set("sampling_backend", "pytorch", "the only backend on HPU")
    if args.device == "cpu" and args.since("0.4.7"):
        if args.attention_backend is None:
            args.set("attention_backend", "intel_amx", "the default on CPU")
        args.set("sampling_backend", "pytorch", "the only backend on CPU")


def fill_sampling_backend(args: ServerArgs) -> None:
    """Fill the sampling backend; FlashInfer is taken to be installed on CUDA."""
    if args.sampling_backend is None:
        backend = "flashinfer" if args.machine.is_cuda else "pytorch"
        args.set("sampling_backend", backend, "the default")


def handle_load_format(args: ServerArgs) -> None:
    """Recognise a GGUF file and a remote model by the model path."""
    path = str(args.model_path)
    if args.load_format in ("auto", "gguf") and path.endswith(".gguf"):
        args.set("quantization", "gguf", "the model path is a GGUF file")
        args.set("load_format", "gguf", "the model path is a GGUF file")
