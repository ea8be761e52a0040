"""Llama 4.

Restates `server_args.py:__post_init__` (0.4.9.post3), `model_specific_adjustments` (0.5.1, 0.5.2),
`_handle_model_specific_adjustments` (0.5.3 to 0.5.18) and
`arg_groups/model_overrides/llama4.py` (0.5.19 and newer).
"""

from __future__ import annotations

from typing import Final

from specpreflight.engines.sglang.server_args.state import ServerArgs
from specpreflight.engines.sglang.server_args.target_models.common import choose_backend

ARCHITECTURES: Final = ("Llama4ForConditionalGeneration", "Llama4ForCausalLM")

#: The accepted backends and the engine's words, in ascending order of release.
ACCEPTED: Final = (
    ("0.5.1", ("fa3", "aiter"), "fa3 or aiter is required for Llama4 model"),
    ("0.5.2", ("fa3", "aiter", "triton"), "fa3, aiter, or triton is required for Llama4 model"),
    (
        "0.5.4.post1",
        ("fa3", "aiter", "triton", "trtllm_mha"),
        "fa3, aiter, triton, or trtllm_mha is required for Llama4 model",
    ),
    (
        "0.5.5.post1",
        ("fa3", "aiter", "triton", "trtllm_mha", "intel_xpu"),
        "fa3, aiter, triton, trtllm_mha or intel_xpu is required for Llama4 model",
    ),
    (
        "0.5.5.post3",
        ("fa3", "aiter", "triton", "trtllm_mha", "intel_xpu"),
        "fa3, aiter, triton, trtllm_mha or intel_xpu is required for Llama4 model but got {}",
    ),
    (
        "0.5.10",
        ("fa3", "aiter", "triton", "ascend", "trtllm_mha", "intel_xpu"),
        "fa3, aiter, triton, ascend, trtllm_mha or intel_xpu is required for Llama4 model but got "
        "{}",
    ),
)


def is_llama4(args: ServerArgs) -> bool:
    """Return whether this release treats the target as a Llama 4."""
    if args.since("0.5.11"):
        return args.architecture in ARCHITECTURES
    return "Llama4" in args.architecture


def handle_llama4(args: ServerArgs) -> None:
    """Choose and check the attention backend (0.5.1 and newer)."""
    if args.since("0.5.3") and args.device == "cpu":
        return
    if args.since("0.5.6") and args.attention_backend is None:
        choose_backend(args, *_default(args))
    _check(args)
    if not args.machine.is_sm100:
        return
    if args.since("0.5.4.post1") and args.attention_backend is None:
        choose_backend(args, "trtllm_mha", "the default for Llama 4 on SM100")
    fp8 = args.quantization in ("fp8", "modelopt_fp8")
    if args.since("0.5.4.post2") and args.moe_runner_backend == "auto" and fp8:
        args.set("moe_runner_backend", "flashinfer_trtllm", "FP8 Llama 4 on SM100")


def _default(args: ServerArgs) -> tuple[str, str]:
    machine = args.machine
    if machine.is_sm100:
        return "trtllm_mha", "the default for Llama 4 on SM100"
    if machine.is_sm90:
        return "fa3", "the default for Llama 4 on Hopper"
    if machine.is_rocm:
        return "aiter", "the default for Llama 4 on ROCm"
    return "triton", f"the default for Llama 4 on {machine.name}"


def _check(args: ServerArgs) -> None:
    _, accepted, said = next(entry for entry in reversed(ACCEPTED) if args.since(entry[0]))
    args.require(
        args.attention_backend in accepted,
        "attention.model-backend",
        f"Llama 4 needs one of {', '.join(accepted)}, got {args.attention_backend}",
        said.format(args.attention_backend),
        "attention_backend",
    )
