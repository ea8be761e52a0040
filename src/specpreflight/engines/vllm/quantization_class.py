"""What vLLM finds wrong with a target's quantisation before it loads anything.

Restates vLLM `config/vllm.py:VllmConfig._get_quantization_config` (`config.py` up to 0.10.2) with
`model_loader/weight_utils.py:get_quant_config`: the class of the method reads its settings, or
looks for a file of them beside the weights. The draft's settings are read when it is loaded.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from specpreflight.engines.vllm.knowledge import Knowledge
from specpreflight.engines.vllm.model_config import Model
from specpreflight.engines.vllm.options import Options
from specpreflight.engines.vllm.quantization import quantization_settings
from specpreflight.engines.vllm.record import Record, flag_value
from specpreflight.models.finding import Stage

_SOURCE = "config/vllm.py:_get_quantization_config"

#: Methods that need no settings: what they do is said by the flag, or by other arguments.
_WITHOUT_SETTINGS = ("gguf", "bitsandbytes", "mxfp8")

#: Fields that a nested ModelOpt export must have.
_REQUIRED = {
    "modelopt_fp4": ("group_size", "kv_cache_quant_algo", "exclude_modules"),
    "modelopt_mxfp8": ("kv_cache_quant_algo", "exclude_modules"),
}

_DTYPES = {"half": "float16", "float": "float32"}
_SCHEMES = ("static", "dynamic")


def check_class(record: Record, knowledge: Knowledge, options: Options, target: Model) -> None:
    """Refuse what the class of the target's quantisation refuses; the first objection counts."""
    method = target.quantization
    if method is None:
        return
    objection = next(_objections(knowledge, options, target, method), None)
    if objection is None:
        return
    record.refuse(
        "quantization.target-refused",
        Stage.ARGUMENTS,
        f"quantization `{method}` of the target: {objection[:1].lower()}{objection[1:]}"[:100],
        text=objection,
        source=_SOURCE,
        values=(
            flag_value("quantization", options.quantization, "--quantization")
            if options.quantization is not None or target.checkpoint is None
            else target.checkpoint.value("quantization_config", "/quantization_config"),
        ),
    )


def _objections(
    knowledge: Knowledge, options: Options, target: Model, method: str
) -> Iterator[str]:
    facts = knowledge.quantization_classes.get(method, {})
    settings = quantization_settings(target.config, knowledge)
    files = target.checkpoint.files if target.checkpoint is not None else ()
    if method == "ptpc_fp8":
        yield "ptpc_fp8 quantization is supported only on ROCm."
    if settings is not None:
        yield from _settings_objections(settings, method, facts)
    elif method not in _WITHOUT_SETTINGS and not _has_file(files, facts):
        yield f"Cannot find the config file for {method}"
    elif method not in _WITHOUT_SETTINGS and not facts.get("files") and "arguments" in facts:
        yield _missing_arguments(facts["class"], facts["arguments"])
    least = facts.get("capability")
    if least is not None and options.capability is not None and options.capability < least:
        yield (
            f"The quantization method {method} is not supported for the current GPU. "
            f"Minimum capability: {least}. Current capability: {options.capability}."
        )
    dtype = activation_dtype(options, target)
    supported = [_DTYPES.get(name, name) for name in facts.get("dtypes", ())]
    if dtype is not None and supported and dtype not in supported:
        listed = ", ".join(f"torch.{name}" for name in supported)
        yield (
            f"torch.{dtype} is not supported for quantization method {method}. "
            f"Supported dtypes: [{listed}]"
        )


def _missing_arguments(name: str, arguments: list[str]) -> str:
    """Return what Python says of a call without the arguments that it needs."""
    shown = [f"'{argument}'" for argument in arguments]
    comma = "," if len(shown) > 2 else ""
    listed = shown[0] if len(shown) == 1 else f"{', '.join(shown[:-1])}{comma} and {shown[-1]}"
    plural = "" if len(shown) == 1 else "s"
    return f"{name}.__init__() missing {len(shown)} required positional argument{plural}: {listed}"


def _has_file(files: tuple[str, ...], facts: Mapping[str, Any]) -> bool:
    wanted = tuple(facts.get("files", ()))
    return not wanted or any(name.endswith(wanted) for name in files)


def _settings_objections(
    settings: Mapping[str, Any], method: str, facts: Mapping[str, Any]
) -> Iterator[str]:
    """Yield what `from_config` and the class itself say of the settings, in their order."""
    for keys in facts.get("needs", ()):
        if keys != ["quant_method"] and not any(key in settings for key in keys):
            yield f"Cannot find any of {keys} in the model's quantization config."
    if method == "auto_gptq" and _gptq_kind(settings) not in ((4, True), (8, True)):
        bits, symmetric = _gptq_kind(settings)
        yield f"Unsupported quantization config: bits={bits}, sym={symmetric}"
    bits = settings.get("w_bit", settings.get("bits"))
    if method in ("awq", "auto_awq") and bits != 4:
        yield (
            f"Unsupported num_bits = {bits}. Supported: 4. For 8-bit AWQ, use Marlin backend by "
            "setting backend='awq:marlin' or backend='marlin'."
            if method == "auto_awq"
            else "Currently, only 4-bit weight quantization is supported for AWQ, but got "
            f"{bits} bits."
        )
    if method == "fp8":
        scheme = settings.get("activation_scheme")
        if scheme not in _SCHEMES:
            yield f"Unsupported activation scheme {scheme}"
        block = settings.get("weight_block_size")
        if isinstance(block, list) and len(block) != 2:
            yield (
                "The quantization block size of weight must have 2 dimensions, but got "
                f"{len(block)} dimensions"
            )
    missing = _unwritten_fields(settings, method)
    if missing:
        kind = method.removeprefix("modelopt_").replace("fp4", "nvfp4").upper()
        yield (
            f"{kind} quantization requires the following fields in hf_quant_config.json: {missing}"
        )
    flat = method == "modelopt" and not isinstance(settings.get("quantization"), Mapping)
    if flat and not settings.get("quant_algo"):
        yield "Missing 'quant_algo' in quantization config"


def _unwritten_fields(settings: Mapping[str, Any], method: str) -> list[str]:
    """Return what a nested ModelOpt export of four bits, or of MXFP8, lacks."""
    nested = settings.get("quantization")
    required = _REQUIRED.get(method)
    if required is None or not isinstance(nested, Mapping):
        return []
    return [name for name in required if name not in nested]


def _gptq_kind(settings: Mapping[str, Any]) -> tuple[Any, Any]:
    return settings.get("bits"), settings.get("sym")


def activation_dtype(options: Options, target: Model) -> str | None:
    """Return the type that the target runs in, `None` where vLLM chooses one by itself."""
    asked = options.dtype
    if asked in (None, "auto"):
        written = target.text.get("torch_dtype") or target.text.get("dtype")
        asked = str(written).removeprefix("torch.")
        return asked if asked in ("float16", "bfloat16") else None
    return _DTYPES.get(str(asked), str(asked))
