"""Which quantisation method vLLM takes for a checkpoint, and when it refuses the one it was given.

Restates vLLM `config/model.py:ModelConfig._verify_quantization` and `_parse_quant_hf_config`
(`config.py` up to 0.10.0), `model_arch_config_convertor.py:_normalize_quantization_config` from
0.14.0 on, and the classes' `override_quantization_method`, on CUDA.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from specpreflight.engines.vllm.config_parts import ConfigObject
from specpreflight.engines.vllm.knowledge import Knowledge

#: Group sizes that the Marlin kernels take (`marlin_utils.py:MARLIN_SUPPORTED_GROUP_SIZES`).
_MARLIN_GROUPS = (-1, 32, 64, 128)

#: What a ModelOpt export means by its algorithm, where the producer names itself.
_MODELOPT_ALGORITHMS = {
    "FP8": "modelopt",
    "FP8_PER_CHANNEL_PER_TOKEN": "modelopt",
    "FP8_PB_WO": "modelopt",
    "NVFP4": "modelopt_fp4",
}

Settings = Mapping[str, Any]


class QuantizationError(Exception):
    """vLLM refuses a quantisation method; `written` is what the checkpoint says."""

    def __init__(self, text: str, written: str | None, exception: str = "ValidationError") -> None:
        super().__init__(text)
        self.text = text
        self.written = written
        self.exception = exception


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
    settings = quantization_settings(config, knowledge)
    method, written = wanted, None
    if settings is not None:
        written = _written(settings, knowledge)
        model_type = config.get("model_type")
        taken = _taken_over(written, settings, knowledge, wanted, model_type)
        named = written if written or not knowledge.since("0.11.0") else None
        if taken is None and wanted is not None and wanted != named:
            raise QuantizationError(
                f"Quantization method specified in the model config ({named}) does not match the "
                f"quantization method specified in the `quantization` argument ({wanted}).",
                named,
            )
        method = taken or named
    if method is not None:
        _check_known(method, written, knowledge, allow_deprecated=allow_deprecated)
    return method


def _check_known(
    method: str, written: str | None, knowledge: Knowledge, *, allow_deprecated: bool
) -> None:
    known = knowledge.constant("quantization_methods")
    if method not in known:
        raise QuantizationError(
            f"Unknown quantization method: {method}. Must be one of {list(known)}.", written
        )
    deprecated = method in knowledge.constant("deprecated_quantization")
    if deprecated and knowledge.since("0.14.0") and not allow_deprecated:
        # The engine hands format and argument to the exception, which prints both.
        raise QuantizationError(
            "('The quantization method %s is deprecated and will be removed in future versions of "
            f"vLLM. To bypass, set `--allow-deprecated-quantization`.', '{method}')",
            written,
        )


def quantization_settings(config: ConfigObject, knowledge: Knowledge) -> Settings | None:
    """Return what a config says of its quantisation; from 0.10.2 on the text part may say it."""
    owners = [config, config.get("text_config")] if knowledge.since("0.10.2") else [config]
    for owner in owners:
        if isinstance(owner, ConfigObject):
            for name in ("quantization_config", "compression_config"):
                found = owner.get(name)
                if isinstance(found, Mapping):
                    return found
    return None


def _written(settings: Settings, knowledge: Knowledge) -> str:
    """Return `quant_method` as written, `""` where it is missing; a ModelOpt export implies it."""
    producer, nested = settings.get("producer"), settings.get("quantization")
    exported = isinstance(producer, Mapping) and producer.get("name") == "modelopt"
    if isinstance(nested, Mapping) and "modelopt_quant_config" in nested:
        exported = exported or knowledge.since("0.26.0")
    algorithm = nested.get("quant_algo") if isinstance(nested, Mapping) else None
    if exported and algorithm is not None and knowledge.since("0.10.1"):
        return _exported(algorithm, knowledge)
    method = settings.get("quant_method", "")
    if not isinstance(method, str):
        kind = type(method).__name__
        text = f"'{kind}' object has no attribute 'lower'"
        raise QuantizationError(text, None, "AttributeError")
    return method.lower().replace("compressed_tensors", "compressed-tensors")


def _exported(algorithm: Any, knowledge: Knowledge) -> str:
    known = dict(_MODELOPT_ALGORITHMS)
    if knowledge.since("0.33.0"):
        known["MIXED_PRECISION"] = "modelopt_mixed"
    name = str(algorithm)
    if knowledge.since("0.14.0"):
        name = name.upper()
    else:
        known = {each: known[each] for each in ("FP8", "NVFP4")}
    if name not in known:
        raise QuantizationError(f"Unknown ModelOpt quant algo: {algorithm}", None)
    return known[name]


def _taken_over(
    written: str, settings: Settings, knowledge: Knowledge, wanted: str | None, model_type: Any
) -> str | None:
    """Return the first method whose class takes a checkpoint over, `None` where none does.

    What takes over also replaces the method that was asked for.
    """
    if wanted == "humming" and knowledge.since("0.20.0"):
        return "humming"
    for claims in (_gptq, _awq, _auto_round, _wna16, _modelopt):
        taken = claims(written, settings, knowledge, wanted)
        if taken is not None:
            return taken
    gpt_oss = written in ("mxfp4", "gpt_oss_mxfp4") and model_type == "gpt_oss"
    if gpt_oss and knowledge.since("0.20.0"):
        return "gpt_oss_mxfp4"
    named_gguf = wanted == "gguf" and knowledge.since("0.20.0") and not knowledge.since("0.24.0")
    return "gguf" if named_gguf else None


def _gptq(written: str, settings: Settings, knowledge: Knowledge, wanted: str | None) -> str | None:
    if knowledge.since("0.22.0"):
        accepted = (None, "gptq", "gptq_marlin", "auto_gptq", "marlin")
        return "auto_gptq" if written == "gptq" and wanted in accepted else None
    form = settings.get("checkpoint_format")
    if form == "marlin" and wanted in (None, "gptq", "marlin") and not knowledge.since("0.10.2"):
        return "marlin"
    if not knowledge.since("0.16.0"):
        if form == "bitblas" and wanted in (None, "gptq", "bitblas"):
            return "bitblas"
        if form == "marlin_24" and wanted in (None, "gptq", "gptq_marlin_24"):
            return "gptq_marlin_24"
    fits = (
        written == "gptq"
        and settings.get("bits") in (4, 8)
        and settings.get("sym") is True
        and settings.get("desc_act") is not None
        and settings.get("group_size") in _MARLIN_GROUPS
    )
    return "gptq_marlin" if fits and wanted in (None, "marlin", "gptq_marlin") else None


def _awq(written: str, settings: Settings, knowledge: Knowledge, wanted: str | None) -> str | None:
    if knowledge.since("0.24.0"):
        accepted = (None, "awq", "awq_marlin", "auto_awq", "marlin")
        return "auto_awq" if written == "awq" and wanted in accepted else None
    fits = (
        written == "awq"
        and settings.get("bits") == 4
        and bool(settings.get("zero_point"))
        and settings.get("group_size") in _MARLIN_GROUPS
    )
    return "awq_marlin" if fits and wanted in (None, "marlin", "awq_marlin") else None


def _auto_round(
    written: str, settings: Settings, knowledge: Knowledge, wanted: str | None
) -> str | None:
    return "inc" if written == "auto-round" and knowledge.since("0.15.0") else None


def _wna16(
    written: str, settings: Settings, knowledge: Knowledge, wanted: str | None
) -> str | None:
    bits = settings.get("bits")
    gptq = written == "gptq" and bits in (4, 8) and not settings.get("desc_act")
    fits = gptq or (written == "awq" and bits == 4)
    return "moe_wna16" if fits and wanted == "moe_wna16" else None


def _modelopt(
    written: str, settings: Settings, knowledge: Knowledge, wanted: str | None
) -> str | None:
    newest = knowledge.since("0.22.0")
    if not (written.startswith("modelopt") if newest else written == "modelopt"):
        return None
    nested = settings.get("quantization")
    if "quantization" in settings and not isinstance(nested, Mapping):
        return None
    owner = nested if isinstance(nested, Mapping) else settings
    algorithm = str(owner.get("quant_algo", ""))
    return next((m for m, holds in _MODELOPT_TESTS if holds(algorithm, knowledge)), None)


def _is_fp8(algorithm: str, knowledge: Knowledge) -> bool:
    if knowledge.since("0.16.0"):
        return algorithm.upper() == "FP8"
    return "FP8" in (algorithm.upper() if knowledge.since("0.14.0") else algorithm)


#: The ModelOpt classes in the order in which they are asked, with what each looks for.
_MODELOPT_TESTS: tuple[tuple[str, Callable[[str, Knowledge], bool]], ...] = (
    ("modelopt", _is_fp8),
    ("modelopt_fp4", lambda algorithm, _: "FP4" in algorithm.upper()),
    ("modelopt_mxfp8", lambda name, known: "MXFP8" in name.upper() and known.since("0.16.0")),
    (
        "modelopt_mixed",
        lambda name, known: name.upper() == "MIXED_PRECISION" and known.since("0.17.0"),
    ),
)
