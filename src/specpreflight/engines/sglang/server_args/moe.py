"""Mixture of experts: which kernel needs which quantisation, and who spans all ranks.

Restates `server_args.py:__post_init__` (to 0.5.2), `_handle_moe_kernel_config`, `_handle_a2a_moe`,
`_handle_eplb_and_dispatch` (0.5.3 to 0.5.18), and `arg_groups/moe_hook.py` with the passes of
`arg_groups/overrides.py` (0.5.15 and newer).
"""

from __future__ import annotations

from typing import Final, NamedTuple

from specpreflight.engines.sglang.server_args.speculative.common import (
    uses_attention_data_parallelism,
)
from specpreflight.engines.sglang.server_args.state import ServerArgs

#: All-to-all backends that spread experts over all of tp, with the release that added them.
SPANNING_BACKENDS: Final = {
    "deepep": "0.4.10.post2",
    "mooncake": "0.5.3.post2",
    "ascend_fuseep": "0.5.6",
    "flashinfer": "0.5.9",
    "mori": "0.5.9",
    "nixl": "0.5.10",
    "megamoe": "0.5.12",
    "pplx": "0.5.17",
    "deepep_v2": "0.5.19",
    "flashinfer_megamoe": "0.5.20",
}


class KernelRule(NamedTuple):
    """Which quantisations a MoE runner accepts, and how the engine says it, from a release on."""

    since: str
    runner: str
    accepted: tuple[str | None, ...]
    said: str


_CUTLASS = "\nFlashInfer Cutlass MOE supports only: "
_TRTLLM = "\nFlashInfer TRTLLM MOE supports only: "
_ROUTED = "\nFlashInfer TRTLLM routed MOE supports only: "
_CUTEDSL = "\nFlashInfer CuteDSL MOE currently supports only: "
_NEEDED = " quantization is required for Flashinfer "
_FP4, _FP8, _MIXED, _ONLINE = "modelopt_fp4", "modelopt_fp8", "modelopt_mixed", "nvfp4_online"

#: In ascending order of release; the last one that applies counts. A message that begins with a
#: line feed follows "Invalid quantization '…'. ".
KERNEL_RULES: Final = (
    KernelRule("0.5.1", "flashinfer_cutlass", (_FP4,), _FP4 + _NEEDED + "MOE"),
    KernelRule("0.5.5.post1", "flashinfer_cutlass", (_FP4,), _FP4 + _NEEDED + "Cutlass MOE"),
    KernelRule(
        "0.5.6",
        "flashinfer_cutlass",
        (_FP4, _FP8, None),
        _CUTLASS + "'modelopt_fp4', 'modelopt_fp8', or bfloat16 (None).",
    ),
    KernelRule(
        "0.5.10",
        "flashinfer_cutlass",
        (_FP4, _FP8, _MIXED, None),
        _CUTLASS + "'modelopt_fp4', 'modelopt_fp8', 'modelopt_mixed', or bfloat16 (None).",
    ),
    KernelRule("0.5.2", "flashinfer_trtllm", (_FP4, "fp8"), _FP4 + _NEEDED + "TRTLLM MoE"),
    KernelRule(
        "0.5.3", "flashinfer_trtllm", (_FP4, "fp8"), "modelopt_fp4 or fp8" + _NEEDED + "TRTLLM MoE"
    ),
    KernelRule(
        "0.5.4.post2",
        "flashinfer_trtllm",
        (_FP4, _FP8, "fp8"),
        "modelopt_fp4, modelopt_fp8 or fp8" + _NEEDED + "TRTLLM MoE",
    ),
    KernelRule(
        "0.5.7",
        "flashinfer_trtllm",
        (_FP4, "fp8", _FP8, "compressed-tensors", None),
        _TRTLLM + "'modelopt_fp4', 'fp8', 'modelopt_fp8', 'compressed-tensors', or bfloat16 "
        "(None).",
    ),
    KernelRule(
        "0.5.10",
        "flashinfer_trtllm",
        (_FP4, "fp8", "mxfp8", _FP8, _MIXED, "compressed-tensors", None),
        _TRTLLM + "'modelopt_fp4', 'fp8', 'modelopt_fp8', 'modelopt_mixed', 'compressed-tensors', "
        "or bfloat16 (None).",
    ),
    KernelRule(
        "0.5.14",
        "flashinfer_trtllm",
        (_FP4, _ONLINE, "fp8", "mxfp8", _FP8, _MIXED, "compressed-tensors", None),
        _TRTLLM + "'modelopt_fp4', 'nvfp4_online', 'fp8', 'modelopt_fp8', 'modelopt_mixed', "
        "'compressed-tensors', or bfloat16 (None).",
    ),
    KernelRule(
        "0.5.10",
        "flashinfer_trtllm_routed",
        ("fp8", "mxfp8", None),
        _ROUTED + "'fp8', 'mxfp8', or bfloat16 (None).",
    ),
    KernelRule(
        "0.5.11",
        "flashinfer_trtllm_routed",
        ("fp8", "mxfp8", _FP4, None),
        _ROUTED + "'fp8', 'mxfp8', 'modelopt_fp4', or bfloat16 (None).",
    ),
    KernelRule(
        "0.5.14",
        "flashinfer_trtllm_routed",
        ("fp8", "mxfp8", _FP4, _ONLINE, None),
        _ROUTED + "'fp8', 'mxfp8', 'modelopt_fp4', 'nvfp4_online', or bfloat16 (None).",
    ),
    KernelRule(
        "0.5.16",
        "flashinfer_trtllm_routed",
        ("fp8", "mxfp8", _FP4, _MIXED, _ONLINE, None),
        _ROUTED + "'fp8', 'mxfp8', 'modelopt_fp4', 'modelopt_mixed', 'nvfp4_online', or bfloat16 "
        "(None).",
    ),
    KernelRule(
        "0.5.23",
        "flashinfer_trtllm_routed",
        ("fp8", "mxfp8", _FP4, _MIXED, _ONLINE, "minimax_m3_nvfp4", None),
        _ROUTED + "'fp8', 'mxfp8', 'modelopt_fp4', 'modelopt_mixed', 'nvfp4_online', "
        "'minimax_m3_nvfp4', or bfloat16 (None).",
    ),
    KernelRule("0.5.11", "flashinfer_cutedsl", (_FP4,), _CUTEDSL + "'modelopt_fp4'."),
    KernelRule(
        "0.5.15",
        "flashinfer_cutedsl",
        (_FP4,),
        _CUTEDSL + "'modelopt_fp4' or hybrid NVFP4 models.",
    ),
    KernelRule(
        "0.5.16",
        "flashinfer_cutedsl",
        (_FP4, _MIXED),
        _CUTEDSL + "'modelopt_fp4', 'modelopt_mixed' (with NVFP4 MoE layers), or hybrid NVFP4 "
        "models.",
    ),
    KernelRule(
        "0.5.18",
        "flashinfer_cutedsl",
        (_FP4, _MIXED, _ONLINE),
        _CUTEDSL + "'modelopt_fp4', 'modelopt_mixed' (with NVFP4 MoE layers), 'nvfp4_online', or "
        "hybrid NVFP4 models.",
    ),
)


def handle_moe_kernel_config(args: ServerArgs) -> None:
    """Choose the MoE runner by quantisation, and check the two against each other."""
    if args.since("0.5.14") and args.quantization == "nvfp4_online":
        _choose_nvfp4_online_runner(args)
    if args.since("0.5.9") and args.quantization == "mxfp8":
        _choose_mxfp8_runner(args)
    fp4_on_sm120 = args.quantization == "modelopt_fp4" and args.machine.is_sm120
    if args.since("0.5.13") and args.moe_runner_backend == "auto" and fp4_on_sm120:
        args.set("moe_runner_backend", "flashinfer_cutlass", "modelopt_fp4 on SM120")
    runner = args.moe_runner_backend
    rule = next((r for r in reversed(KERNEL_RULES) if _applies(args, r)), None)
    if rule is not None:
        _check_kernel_rule(args, rule)
    if runner in ("flashinfer_cutlass", "flashinfer_cutedsl") and args.since("0.5.1"):
        args.require(
            args.ep_size in (1, args.tp_size),
            "parallelism.moe-runner",
            f"{runner} needs ep_size 1 or tp_size, got {args.ep_size}",
            "The expert parallel size must be 1 or the same as the tensor parallel size",
            "ep_size",
            "tp_size",
            "moe_runner_backend",
        )
    if rule is not None and runner != "flashinfer_cutlass" and args.since("0.5.1"):
        args.set("disable_shared_experts_fusion", True, f"{runner} has no shared expert fusion")
    _check_cutlass(args)


def _applies(args: ServerArgs, rule: KernelRule) -> bool:
    runner = args.moe_runner_backend
    if runner == "experimental_sgl_trtllm" and args.since("0.5.13"):
        runner = "flashinfer_trtllm"
    return rule.runner == runner and args.since(rule.since)


def _check_kernel_rule(args: ServerArgs, rule: KernelRule) -> None:
    given = args.quantization
    invalid = f"Invalid quantization '{given}'. " if rule.said.startswith("\n") else ""
    args.require(
        given in rule.accepted,
        "quantization.moe-runner",
        f"MoE runner {rule.runner} does not take quantisation {given}",
        invalid + rule.said,
        "moe_runner_backend",
        "quantization",
    )


def _choose_nvfp4_online_runner(args: ServerArgs) -> None:
    prefix = "--quantization nvfp4_online "
    if not args.machine.is_sm100:
        args.stop(
            "quantization.hardware",
            f"nvfp4_online needs SM100, this is {args.machine.name}",
            prefix + "is supported only on NVIDIA Blackwell SM100/SM103 GPUs.",
            "quantization",
        )
    allowed = ["flashinfer_trtllm", "flashinfer_trtllm_routed"]
    said = "supports only --moe-runner-backend flashinfer_trtllm or flashinfer_trtllm_routed."
    if args.since("0.5.18"):
        allowed.append("flashinfer_cutedsl")
        said = said.removesuffix(".") + ", or flashinfer_cutedsl."
    if args.moe_runner_backend == "auto":
        args.set("moe_runner_backend", "flashinfer_trtllm", "the default for nvfp4_online")
    elif args.moe_runner_backend not in allowed:
        args.stop(
            "quantization.moe-runner",
            f"nvfp4_online does not run with MoE runner {args.moe_runner_backend}",
            prefix + said,
            "quantization",
            "moe_runner_backend",
        )


def _choose_mxfp8_runner(args: ServerArgs) -> None:
    chosen, allowed = "cutlass", ["cutlass"]
    if args.since("0.5.10"):
        chosen = "flashinfer_trtllm"
        allowed = ["cutlass", "flashinfer_trtllm", "flashinfer_trtllm_routed"]
    if args.moe_runner_backend not in allowed:
        args.set("moe_runner_backend", chosen, "the default for mxfp8")


def _check_cutlass(args: ServerArgs) -> None:
    if not args.since("0.5.4.post3"):
        return
    widened = args.since("0.5.9")
    names = ("fp8", "mxfp8") if widened else ("fp8",)
    if not args.since("0.5.18") and args.variable_is_true("SGLANG_CUTLASS_MOE"):
        args.require(
            args.quantization in names,
            "quantization.moe-runner",
            f"SGLANG_CUTLASS_MOE needs {' or '.join(names)}, got {args.quantization}",
            f"cutlass MoE is only supported with {'/'.join(names)} quantization",
            "quantization",
        )
        args.set("moe_runner_backend", "cutlass", "SGLANG_CUTLASS_MOE is set")
    if args.moe_runner_backend == "cutlass" and args.quantization in names:
        kind = "FP8/MXFP8" if widened else "FP8"
        args.require(
            args.ep_size == 1,
            "parallelism.moe-runner",
            f"the FP8 cutlass MoE runner needs ep_size 1, got {args.ep_size}",
            f"{kind} Cutlass MoE is only supported with ep_size == 1",
            "ep_size",
            "moe_runner_backend",
        )


def handle_a2a_moe(args: ServerArgs) -> None:
    """Let an all-to-all backend spread the experts over all of tp."""
    backend = args.moe_a2a_backend
    if backend == "deepep" or (args.enable_deepep_moe and not args.since("0.5.3")):
        if args.deepep_mode == "normal" and not args.since("0.5.14"):
            args.set("disable_cuda_graph", True, "deepep_mode is normal")
        if not args.since("0.4.10.post2"):
            args.set("ep_size", args.tp_size, "DeepEP spreads experts over all of tp")
    added = SPANNING_BACKENDS.get(str(backend))
    if added is None or not args.since(added):
        return
    if backend == "flashinfer":
        _check_flashinfer_a2a(args)
    args.set("ep_size", args.tp_size, f"{backend} spreads experts over all of tp")
    if backend in ("flashinfer", "flashinfer_megamoe", "deepep_v2"):
        args.set("disable_shared_experts_fusion", True, f"{backend} has no shared expert fusion")
    if backend == "mori" and (args.deepep_mode == "auto" or not args.since("0.5.11")):
        args.set("deepep_mode", "normal", "MoRI runs in normal mode")


def _check_flashinfer_a2a(args: ServerArgs) -> None:
    if args.since("0.5.13") and not args.since("0.5.23"):
        size = args.attn_dp_size if args.since("0.5.22") else args.dp_size
        said = (
            "Flashinfer MoE A2A is only supported with --attn-dp-size equal to --tp-size"
            if args.since("0.5.22")
            else "Flashinfer MoE A2A is only supported with dp_size == tp_size and "
            "--enable-dp-attention"
        )
        args.require(
            uses_attention_data_parallelism(args) and size == args.tp_size,
            "parallelism.moe-a2a",
            "the flashinfer all-to-all needs DP attention over all of tp",
            said,
            "moe_a2a_backend",
            "tp_size",
            "dp_size",
        )
    allowed: tuple[str, ...] = ("flashinfer_cutlass",)
    said = "Flashinfer MoE A2A is only supported with flashinfer_cutlass moe runner backend"
    if args.since("0.5.15"):
        return
    if args.since("0.5.13"):
        allowed = ("flashinfer_cutlass", "flashinfer_cutedsl")
        said = (
            "Flashinfer MoE A2A is only supported with flashinfer_cutlass or flashinfer_cutedsl "
            "moe runner backend"
        )
    args.require(
        args.moe_runner_backend in allowed,
        "parallelism.moe-a2a",
        f"the flashinfer all-to-all needs {' or '.join(allowed)}, got {args.moe_runner_backend}",
        said,
        "moe_a2a_backend",
        "moe_runner_backend",
    )


def handle_eplb(args: ServerArgs) -> None:
    """Check that expert load balancing has experts on more than one rank."""
    if not args.enable_eplb or not args.since("0.4.9.post5"):
        return
    if args.since("0.5.16") and args.ep_join_mode == "scale":
        return
    spread = args.ep_size > 1
    if not args.since("0.4.10.post2"):
        spread = bool(args.enable_ep_moe or args.enable_deepep_moe)
    elif not args.since("0.5.1"):
        spread = spread or args.moe_a2a_backend is not None
    args.require(
        spread,
        "parallelism.eplb",
        "`--enable-eplb` needs expert parallelism",
        "",
        "enable_eplb",
        "ep_size",
    )


def check_deepep_v2_draft(args: ServerArgs) -> None:
    """Refuse DeepEP v2 for the draft (0.5.19 and newer)."""
    draft = args.speculative_moe_a2a_backend
    if draft is None and args.speculative_algorithm not in (None, "NGRAM"):
        draft = args.moe_a2a_backend
    if draft == "deepep_v2":
        args.stop(
            "parallelism.draft-moe-a2a",
            "DeepEP v2 is not validated for a draft",
            "DeepEP v2 MoE is not validated as a speculative draft backend. Select another "
            "--speculative-moe-a2a-backend.",
            "moe_a2a_backend",
            "speculative_moe_a2a_backend",
        )
