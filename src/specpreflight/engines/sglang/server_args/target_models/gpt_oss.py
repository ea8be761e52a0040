"""GPT-OSS.

Restates `server_args.py:model_specific_adjustments` (0.5.1, 0.5.2),
`_handle_model_specific_adjustments` (0.5.3 to 0.5.18), and `arg_groups/model_hook.py`,
`arg_groups/model_overrides/gpt_oss.py` (0.5.19 and newer).
"""

from __future__ import annotations

from typing import Final

from specpreflight.engines.sglang.server_args.speculative.common import attention_backends
from specpreflight.engines.sglang.server_args.state import ServerArgs
from specpreflight.engines.sglang.server_args.target_models.common import (
    choose_backend,
    is_backend_unset,
    quantization_method,
    requires_backends,
)

NAME: Final = "GptOssForCausalLM"

#: Accepted backends in the engine's order, in ascending order of release.
ACCEPTED: Final = (
    ("0.5.1", ("triton", "trtllm_mha", "fa3")),
    ("0.5.3.post1", ("triton", "trtllm_mha", "fa3", "fa4")),
    ("0.5.8", ("triton", "trtllm_mha", "fa3", "fa4", "ascend")),
    ("0.5.10", ("triton", "trtllm_mha", "fa3", "fa4", "ascend", "aiter")),
    ("0.5.11", ("triton", "trtllm_mha", "fa3", "fa4", "ascend", "intel_xpu", "aiter")),
    (
        "0.5.13",
        ("triton", "trtllm_mha", "fa3", "fa4", "ascend", "intel_amx", "intel_xpu", "aiter"),
    ),
)


def handle_gpt_oss(args: ServerArgs) -> None:
    """Choose and check the attention backend and the MoE runner."""
    unset = args.attention_backend is None
    if args.since("0.5.3.post1"):
        unset = is_backend_unset(args)
    if unset:
        choose_backend(args, *_default(args))
    _check_backends(args)
    if quantization_method(args) == "mxfp4":
        args.set("dtype", "bfloat16", "MXFP4 needs it")
    _choose_moe_runner(args)
    if args.moe_runner_backend == "triton_kernel":
        args.require(
            args.ep_size == 1,
            "parallelism.moe-runner",
            f"the triton_kernel MoE runner needs ep_size 1, got {args.ep_size}",
            "Triton kernel MoE is only supported when ep_size == 1",
            "ep_size",
            "moe_runner_backend",
        )
    if not args.since("0.5.8"):
        args.set("disable_hybrid_swa_memory", True, "not supported with GPT-OSS yet")
    elif not args.since("0.5.10") and "trtllm_mha" in attention_backends(args):
        args.set("disable_hybrid_swa_memory", True, "trtllm_mha does not support it")
    elif not args.since("0.5.9") and args.speculative_algorithm is not None:
        args.set("disable_hybrid_swa_memory", True, "speculation does not support it")


def _default(args: ServerArgs) -> tuple[str, str]:
    machine = args.machine
    if machine.is_sm100:
        return "trtllm_mha", "the default for GPT-OSS on SM100"
    if machine.is_sm90:
        return "fa3", "the default for GPT-OSS on Hopper"
    if machine.is_rocm and args.since("0.5.10"):
        return "aiter", "the default for GPT-OSS on ROCm"
    return "triton", f"the default for GPT-OSS on {machine.name}"


def _check_backends(args: ServerArgs) -> None:
    accepted = next(names for since, names in reversed(ACCEPTED) if args.since(since))
    prefill, decode = attention_backends(args)
    if args.since("0.5.3.post1"):
        requires_backends(
            args,
            accepted,
            "GPT-OSS",
            f"{NAME} requires one of {list(accepted)} attention backend, but got the following "
            f"backends\n- Prefill: {prefill}\n- Decode: {decode}\n",
        )
        return
    args.require(
        args.attention_backend in accepted,
        "attention.model-backend",
        f"GPT-OSS needs one of {', '.join(accepted)}, got {args.attention_backend}",
        f"{NAME} requires one of {list(accepted)} attention backend, but got "
        f"'{args.attention_backend}'",
        "attention_backend",
    )


def _choose_moe_runner(args: ServerArgs) -> None:
    mxfp4 = quantization_method(args) == "mxfp4"
    blackwell = args.machine.is_sm100
    if args.since("0.5.4.post2") and not args.since("0.5.10"):
        blackwell = args.machine.is_blackwell
    forced = not args.since("0.5.5")
    if args.moe_runner_backend != "auto" and not (forced and blackwell and mxfp4):
        return
    if args.since("0.5.5.post3") and not args.since("0.5.9") and args.enable_piecewise_cuda_graph:
        return
    if blackwell and mxfp4:
        args.set("moe_runner_backend", "flashinfer_mxfp4", "MXFP4 on Blackwell")
    elif args.since("0.5.10") and args.machine.is_sm120 and mxfp4:
        args.set("moe_runner_backend", _sm120_runner(args), "MXFP4 on SM120")
    elif args.ep_size == 1 and (not args.since("0.5.9") or args.quantization is None):
        if args.since("0.5.10") and args.machine.is_blackwell:
            args.unknown.append(("moe_runner_backend", "triton or triton_kernel, by the driver"))
        args.set("moe_runner_backend", "triton_kernel", "the default for GPT-OSS")


def _sm120_runner(args: ServerArgs) -> str:
    if args.since("0.5.23"):
        return "flashinfer_mxfp4"
    return "marlin" if args.since("0.5.16") else "triton_kernel"
