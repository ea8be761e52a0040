"""The step that looks at the target's architecture.

Restates `server_args.py:model_specific_adjustments` (0.5.1, 0.5.2),
`_handle_model_specific_adjustments` (0.5.3 to 0.5.18) and
`arg_groups/model_hook.py:handle_model_specific_adjustments` (0.5.19 and newer). Settings that no
launch with speculation depends on (all-reduce fusion, FP8 GEMM kernels, …) are left out.
"""

from __future__ import annotations

from typing import Final

from specpreflight.engines.sglang.server_args.state import ServerArgs
from specpreflight.engines.sglang.server_args.target_models import sliding_window
from specpreflight.engines.sglang.server_args.target_models.common import (
    take_checkpoint_quantization,
)
from specpreflight.engines.sglang.server_args.target_models.deepseek import (
    handle_deepseek,
    handle_deepseek_v4,
    is_family,
)
from specpreflight.engines.sglang.server_args.target_models.gpt_oss import NAME, handle_gpt_oss
from specpreflight.engines.sglang.server_args.target_models.hybrid_targets import find_hybrid
from specpreflight.engines.sglang.server_args.target_models.linear_attention import (
    handle_hybrid,
    refuse_states,
)
from specpreflight.engines.sglang.server_args.target_models.llama4 import (
    handle_llama4,
    is_llama4,
)

#: Mixtures of experts that get the TensorRT-LLM MoE runner on SM100, since when, and for which
#: quantisations; `None` is an unquantised checkpoint.
_FP8_FP4: Final = ("fp8", "modelopt_fp4")
SM100_RUNNERS: Final = {
    "Qwen3MoeForCausalLM": "0.5.6",
    "Qwen3VLMoeForConditionalGeneration": "0.5.6",
    "Qwen3NextForCausalLM": "0.5.6",
    "Qwen3_5MoeForConditionalGeneration": "0.5.9",
    "Qwen3_5ForConditionalGeneration": "0.5.9",
    "InternS2PreviewForConditionalGeneration": "0.5.12",
    "Qwen4ExpForConditionalGeneration": "0.5.20",
    "Glm4MoeForCausalLM": "0.5.8",
}


def handle_model_specific_adjustments(args: ServerArgs) -> None:
    """Apply what the release does for the target's architecture."""
    name = args.architecture
    if args.since("0.5.6"):
        _choose_moe_runner(args)
    hybrid = find_hybrid(args)
    if hybrid is not None:
        handle_hybrid(args, hybrid)
    if args.since("0.5.3") and is_family(args):
        handle_deepseek(args)
    elif name == "DeepseekV4ForCausalLM" and args.since("0.5.12"):
        handle_deepseek_v4(args)
    elif name == NAME:
        handle_gpt_oss(args)
    elif is_llama4(args):
        handle_llama4(args)
    elif sliding_window.is_multi_layer_mtp(args):
        sliding_window.handle_multi_layer_mtp(args)
    elif name in sliding_window.GEMMA:
        sliding_window.handle_gemma(args)
    elif name in sliding_window.GEMMA4 and args.since("0.5.11"):
        sliding_window.handle_gemma4(args)
    elif name == "Olmo2ForCausalLM" and args.since("0.5.4"):
        sliding_window.handle_olmo2(args)
    elif name in sliding_window.EXAONE and args.since("0.5.9"):
        sliding_window.handle_exaone(args)
    elif name == "MossVLForConditionalGeneration" and args.since("0.5.11"):
        sliding_window.handle_moss_vl(args)
    elif name == "IQuestQ1ForCausalLM" and args.since("0.5.21"):
        sliding_window.handle_iquest_q1(args)
    elif name.startswith("MiniMaxM3Sparse") and args.since("0.5.15"):
        sliding_window.handle_minimax_m3(args)
    if hybrid is None and args.since("0.5.21"):
        refuse_states(args)


def _choose_moe_runner(args: ServerArgs) -> None:
    added = SM100_RUNNERS.get(args.architecture)
    if added is None or not args.since(added) or not args.machine.is_sm100:
        return
    take_checkpoint_quantization(args)
    accepted: tuple[str | None, ...] = _FP8_FP4
    if args.since("0.5.8"):
        accepted = (*_FP8_FP4, None)
    if args.architecture == "Glm4MoeForCausalLM":
        accepted = ("modelopt_fp4", None) if args.since("0.5.15") else ("modelopt_fp4",)
    if args.quantization not in accepted:
        return
    if args.moe_a2a_backend == "none" and args.moe_runner_backend == "auto":
        args.set("moe_runner_backend", "flashinfer_trtllm", "the default for this MoE on SM100")
