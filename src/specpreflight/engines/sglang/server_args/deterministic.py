"""`--enable-deterministic-inference`: which attention backends it allows, and what it turns off.

Restates `server_args.py:_handle_deterministic_inference` (0.5.3 to 0.5.18) and
`arg_groups/attention_hook.py:handle_deterministic_inference` (0.5.19 and newer). Up to 0.5.11 it
runs after the speculative hook, from 0.5.12 on before the attention backend is chosen.
"""

from __future__ import annotations

from typing import Final

from specpreflight.engines.sglang.server_args.state import ServerArgs

#: Targets with absorbed MLA, with the release from which they count as such.
ABSORBED_MLA: Final = {
    "DeepseekV2ForCausalLM": "0.5.4.post1",
    "DeepseekV3ForCausalLM": "0.5.4.post1",
    "DeepseekV32ForCausalLM": "0.5.4.post1",
    "MistralLarge3ForCausalLM": "0.5.6.post1",
    "PixtralForConditionalGeneration": "0.5.6.post1",
    "GlmMoeDsaForCausalLM": "0.5.9",
    "Glm4MoeLiteForCausalLM": "0.5.18",
    "Glm5NextForConditionalGeneration": "0.5.20",
}


def handle_deterministic_inference(args: ServerArgs) -> None:
    """Choose or check the attention backend of a deterministic server."""
    if args.since("0.5.4.post1") and args.rl_on_policy_target is not None:
        args.set("enable_deterministic_inference", True, "--rl-on-policy-target asks for it")
    if not args.enable_deterministic_inference:
        return
    args.set("sampling_backend", "pytorch", "deterministic inference samples with pytorch")
    added = ABSORBED_MLA.get(args.architecture)
    absorbed = added is not None and args.since(added)
    _choose_backend(args, absorbed)
    _check_absorbed_mla(args, absorbed)
    backend = args.attention_backend
    if args.since("0.5.4") and backend not in radix_backends(args):
        args.set("disable_radix_cache", True, f"{backend} is not deterministic with a radix cache")
    if args.tp_size > 1 and not args.machine.is_rocm:
        args.environment["NCCL_ALGO"] = "allreduce:tree"
        args.set("disable_custom_all_reduce", True, "deterministic inference needs NCCL's tree")


def deterministic_backends(args: ServerArgs) -> list[str]:
    """Return `DETERMINISTIC_ATTENTION_BACKEND_CHOICES`."""
    if args.since("0.5.19"):
        return ["ascend", "fa3", "fa4", "flashinfer", "intel_xpu", "triton"]
    if args.since("0.5.16"):
        return ["ascend", "fa3", "fa4", "flashinfer", "triton"]
    if args.since("0.5.13"):
        return ["flashinfer", "fa3", "triton", "ascend"]
    return ["flashinfer", "fa3", "triton"]


def radix_backends(args: ServerArgs) -> list[str]:
    """Return `RADIX_SUPPORTED_DETERMINISTIC_ATTENTION_BACKEND`."""
    if args.since("0.5.16"):
        return ["ascend", "fa3", "fa4", "triton"]
    return ["fa3", "triton", "ascend"] if args.since("0.5.13") else ["fa3", "triton"]


def _choose_backend(args: ServerArgs, absorbed: bool) -> None:
    allowed, backend = deterministic_backends(args), args.attention_backend
    if backend is None and args.since("0.5.4"):
        chosen = "fa3"
        if args.machine.is_sm100 or args.machine.is_sm120:
            chosen = "triton" if absorbed else "flashinfer"
        args.set("attention_backend", chosen, "the default of deterministic inference")
    elif backend not in allowed:
        said = f"Currently only {allowed} attention backends are supported for deterministic "
        said += (
            f"inference, but you explicitly specified '{backend}'."
            if args.since("0.5.4")
            else "inference."
        )
        args.stop(
            "attention.deterministic-backend",
            f"deterministic inference needs {', '.join(allowed)}; the backend is {backend}",
            said,
            "attention_backend",
            "enable_deterministic_inference",
        )


def _check_absorbed_mla(args: ServerArgs, absorbed: bool) -> None:
    backend = args.attention_backend
    if not absorbed:
        return
    allowed = ["fa3", "triton"]
    if args.since("0.5.17"):
        allowed = radix_backends(args)
    kind = "absorbed-MLA" if args.since("0.5.18") else "DeepSeek"
    if backend not in allowed:
        named = "fa3 and triton" if not args.since("0.5.4.post2") else str(allowed)
        args.stop(
            "attention.deterministic-backend",
            f"a deterministic {kind} target needs {' or '.join(allowed)}; the backend is {backend}",
            f"Currently only {named} attention backends are supported for deterministic inference "
            f"with {kind} models. But you're using {backend}.",
            "attention_backend",
            "enable_deterministic_inference",
        )
    elif backend == "fa4" and args.machine.capability[0] not in (10, 11):
        args.stop(
            "attention.deterministic-backend",
            f"a deterministic {kind} target runs fa4 only on SM100 and SM110",
            f"Deterministic inference with {kind} models on the fa4 attention backend requires "
            "SM100/SM110: it runs absorbed MLA, whose qv argument flash_attn.cute only implements "
            "on those archs.",
            "attention_backend",
        )
