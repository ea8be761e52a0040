"""The targets that mix attention with linear layers or Mamba, and what each release knows of them.

Restates `server_args.py:_handle_model_specific_adjustments` (0.5.4.post2 to 0.5.14),
`_support_mamba_cache_extra_buffer` (0.5.14), and `_MAMBA_RADIX_CACHE_ARCHS`,
`_MAMBA_EXTRA_BUFFER_ARCHS` of `arg_groups/overrides.py` (0.5.15 and newer).
"""

from __future__ import annotations

from typing import Final, NamedTuple

from specpreflight.engines.sglang.server_args.state import ServerArgs


class Hybrid(NamedTuple):
    """A target with linear layers.

    Attributes:
        since: the first release that handles it at all.
        sm100: the attention backend on SM100 where none is given.
        caches: whether its state can be in the radix cache (to 0.5.13).
        buffers: the first release whose radix cache keeps an extra buffer for it.
        without_triton: the target refuses triton attention.
    """

    since: str
    sm100: str | None = "triton"
    caches: bool = True
    buffers: str | None = None
    without_triton: bool = False


_QWEN: Final = Hybrid("0.5.9", buffers="0.5.9")


HYBRIDS: Final = {
    "Qwen3NextForCausalLM": Hybrid("0.5.5.post2", buffers="0.5.7"),
    "Qwen3_5ForConditionalGeneration": _QWEN,
    "Qwen3_5MoeForConditionalGeneration": _QWEN,
    "InternS2PreviewForConditionalGeneration": Hybrid("0.5.12", buffers="0.5.12"),
    "InternS2MobiusForConditionalGeneration": Hybrid("0.5.18"),
    "Qwen3_5ForCausalLM": Hybrid("0.5.19", None, buffers="0.5.19"),
    "Qwen3_5MoeForCausalLM": Hybrid("0.5.19", None, buffers="0.5.19"),
    "Qwen4ExpForConditionalGeneration": Hybrid("0.5.20", buffers="0.5.20"),
    "MiniCPMV4_6ForConditionalGeneration": Hybrid("0.5.12", buffers="0.5.12"),
    "MiniCPMV4_7ForConditionalGeneration": Hybrid("0.5.23", buffers="0.5.23"),
    "KimiLinearForCausalLM": Hybrid("0.5.4.post2", None, caches=False, buffers="0.5.16"),
    "KimiK3ForConditionalGeneration": Hybrid("0.5.17", None, buffers="0.5.17"),
    "BailingMoeV2_5ForCausalLM": Hybrid("0.5.9", None, caches=False, buffers="0.5.13"),
    "BailingMoeV3ForCausalLM": Hybrid("0.5.19", None, buffers="0.5.19"),
    "BailingMoeV3VLForConditionalGeneration": Hybrid("0.5.21", None, buffers="0.5.21"),
    "NemotronHForCausalLM": Hybrid(
        "0.5.6.post1", "flashinfer", buffers="0.5.14", without_triton=True
    ),
    "NemotronHPuzzleForCausalLM": Hybrid(
        "0.5.13", "flashinfer", buffers="0.5.14", without_triton=True
    ),
    "NemotronH_Omni_Reasoning_V3": Hybrid("0.5.20", "flashinfer", buffers="0.5.20"),
    "FalconH1ForCausalLM": Hybrid("0.5.6.post1", buffers="0.5.14"),
    "JetNemotronForCausalLM": Hybrid("0.5.6.post1"),
    "JetVLMForConditionalGeneration": Hybrid("0.5.6.post1"),
    "GraniteMoeHybridForCausalLM": Hybrid("0.5.9", buffers="0.5.14"),
    "Lfm2ForCausalLM": Hybrid("0.5.9", "flashinfer", without_triton=True),
    "Lfm2MoeForCausalLM": Hybrid("0.5.17", "flashinfer", without_triton=True),
    "ZayaForCausalLM": Hybrid("0.5.14", None),
    "Glm5NextForConditionalGeneration": Hybrid("0.5.20", None, buffers="0.5.20"),
}


def find_hybrid(args: ServerArgs) -> Hybrid | None:
    """Return what this release knows of the target as a hybrid, `None` for any other target."""
    hybrid = HYBRIDS.get(args.architecture)
    if hybrid is None or not args.since(hybrid.since):
        return None
    if args.architecture == "GraniteMoeHybridForCausalLM":
        layers = args.target.config.stated("layer_types") or []
        if "mamba" not in layers:
            return None
    return hybrid
