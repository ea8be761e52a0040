"""Which quantisation method vLLM takes for a checkpoint, and when it refuses the one it was given.

Restates vLLM `config/model.py:ModelConfig._verify_quantization` and, from 0.14.0,
`model_arch_config_convertor.py:_normalize_quantization_config`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from specpreflight.engines.vllm.config_parts import ConfigObject
from specpreflight.engines.vllm.knowledge import Knowledge

#: Methods that take over each other's checkpoints (`override_quantization_method`): naming any of
#: a family for a checkpoint of that family is no mismatch.
_FAMILIES = (
    frozenset({"gptq", "gptq_marlin", "gptq_marlin_24", "gptq_bitblas", "auto_gptq", "marlin"}),
    frozenset({"awq", "awq_marlin", "auto_awq", "ipex", "cpu_awq"}),
    frozenset({"modelopt", "modelopt_fp4", "modelopt_mxfp8", "modelopt_mixed", "petit_nvfp4"}),
    frozenset({"inc", "auto-round", "auto_round"}),
    frozenset({"mxfp4", "gpt_oss_mxfp4"}),
    frozenset({"fp8", "deepseek_v4_fp8"}),
)

_MODELOPT_ALGORITHMS = {
    "FP8": "modelopt",
    "FP8_PER_CHANNEL_PER_TOKEN": "modelopt",
    "FP8_PB_WO": "modelopt",
    "NVFP4": "modelopt_fp4",
    "MXFP8": "modelopt_mxfp8",
    "MIXED_PRECISION": "modelopt_mixed",
}


class QuantizationError(Exception):
    """vLLM refuses a quantisation method; `written` is what the checkpoint says."""

    def __init__(self, text: str, written: str | None) -> None:
        super().__init__(text)
        self.text = text
        self.written = written


def read_quantization(
    config: ConfigObject, knowledge: Knowledge, wanted: str | None, *, allow_deprecated: bool
) -> str | None:
    """Return the method that a checkpoint is loaded with, `None` for none.

    Args:
        config: the checkpoint's top-level config.
        knowledge: of the release.
        wanted: `--quantization`, or `quantization` of the speculative config.
        allow_deprecated: `--allow-deprecated-quantization`.

    Raises:
        QuantizationError: vLLM refuses.
    """
    written = _written(config)
    method = wanted
    if written is not None:
        taken = _taken_over(written, config, knowledge, wanted)
        if taken == "" and knowledge.since("0.11.0"):
            taken = None
        if wanted is not None and not _same_family(wanted, taken):
            raise QuantizationError(
                f"Quantization method specified in the model config ({taken}) does not match the "
                f"quantization method specified in the `quantization` argument ({wanted}).",
                taken,
            )
        method = taken
    if method is None:
        return None
    known = knowledge.constant("quantization_methods")
    if method not in known:
        raise QuantizationError(
            f"Unknown quantization method: {method}. Must be one of {list(known)}.", written
        )
    deprecated = method in knowledge.constant("deprecated_quantization")
    if deprecated and knowledge.since("0.14.0") and not allow_deprecated:
        raise QuantizationError(
            f"The quantization method {method} is deprecated and will be removed in future "
            "versions of vLLM. To bypass, set `--allow-deprecated-quantization`.",
            written,
        )
    return method


def _settings(config: ConfigObject) -> Mapping[str, Any] | None:
    for owner in (config, config.get("text_config")):
        if isinstance(owner, ConfigObject):
            for name in ("quantization_config", "compression_config"):
                found = owner.get(name)
                if isinstance(found, Mapping):
                    return found
    return None


def _written(config: ConfigObject) -> str | None:
    """Return `quant_method` as written, `""` where a quantisation config lacks it."""
    settings = _settings(config)
    if settings is None:
        return None
    method = str(settings.get("quant_method") or "").lower()
    return method.replace("compressed_tensors", "compressed-tensors")


def _taken_over(
    written: str, config: ConfigObject, knowledge: Knowledge, wanted: str | None
) -> str | None:
    """Return what the classes' `override_quantization_method` make of a checkpoint's method."""
    settings = _settings(config) or {}
    nested = settings.get("quantization")
    algorithm = settings.get("quant_algo") or (
        nested.get("quant_algo") if isinstance(nested, Mapping) else None
    )
    if algorithm is not None and (written.startswith("modelopt") or written == ""):
        return _MODELOPT_ALGORITHMS.get(str(algorithm).upper(), written)
    if wanted is not None and _same_family(wanted, written):
        return wanted
    if written == "gptq":
        return "auto_gptq" if knowledge.since("0.22.0") else "gptq_marlin"
    if written == "awq":
        return "auto_awq" if knowledge.since("0.24.0") else "awq_marlin"
    if written in ("auto-round", "auto_round") and knowledge.since("0.15.0"):
        return "inc"
    return written


def _same_family(one: str, other: str | None) -> bool:
    return one == other or any(one in family and other in family for family in _FAMILIES)
