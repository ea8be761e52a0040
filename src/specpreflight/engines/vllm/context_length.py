"""How long a sequence vLLM lets a model have: `ModelConfig.max_model_len`.

Restates vLLM `config/model.py:_get_and_verify_max_len` (`config/__init__.py` up to 0.10.2) with
`transformers_utils/model_arch_config_convertor.py:derive_max_model_len_and_key` (from 0.14.0).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from specpreflight.engines.vllm.config_parts import ConfigObject
from specpreflight.engines.vllm.knowledge import Knowledge

#: The keys that may hold a length, in the order of the loop; the smallest value wins.
LENGTH_KEYS = (
    "max_position_embeddings",
    "n_positions",
    "max_seq_len",
    "seq_length",
    "model_max_length",
    "max_target_positions",
    "max_sequence_length",
    "max_seq_length",
    "seq_len",
)

#: RoPE types whose factor is already inside `max_position_embeddings`.
_UNSCALED = ("su", "longrope", "llama3")
_UNSCALED_FROM_0_30 = (*_UNSCALED, "yarn", "deepseek_yarn", "deepseek_llama_scaling")

#: Words under which transformers nests RoPE parameters by layer type; `main` and `compress` are
#: DeepSeek-V4's (from 0.33.0).
LAYER_TYPES = frozenset(
    {
        "full_attention",
        "sliding_attention",
        "chunked_attention",
        "linear_attention",
        "main",
        "compress",
    }
)

#: How long a text Python turns into an integer (`sys.int_info.default_max_str_digits`).
_MOST_DIGITS = 4300

#: What vLLM assumes where a config holds no length at all.
ASSUMED_LENGTH = 2048


class LengthError(Exception):
    """vLLM stops while it derives or checks a length."""

    def __init__(self, exception: str, text: str, key: str | None, derived: Any) -> None:
        super().__init__(text)
        self.exception = exception
        self.text = text
        self.key = key
        self.derived = derived


@dataclass(frozen=True, slots=True)
class Length:
    """A model's length in tokens.

    `value` is what the model is served with, `derived` what its config allows (a float where a
    RoPE factor is one, `inf` where no key holds a length), `key` the config key that decided,
    `overlong` whether `value` is larger and only `VLLM_ALLOW_LONG_MAX_MODEL_LEN` permits it.
    """

    value: int
    derived: float
    key: str | None
    reason: str
    overlong: bool = False


def read_length(
    text: ConfigObject,
    knowledge: Knowledge,
    *,
    wanted: int | None,
    target_length: int | None = None,
    allow_longer: bool = False,
    sliding_window: int | None = None,
) -> Length:
    """Return the length of a model whose language part is `text`.

    Args:
        text: the config of the language model.
        knowledge: of the release.
        wanted: `--max-model-len` or `max_model_len` of the speculative config; `-1` is automatic.
        target_length: for a draft, what it gets where its config holds no length.
        allow_longer: `VLLM_ALLOW_LONG_MAX_MODEL_LEN`.
        sliding_window: the window, where `--disable-sliding-window` makes it the limit.

    Raises:
        LengthError: vLLM stops here.
    """
    derived, key = _smallest_length(text)
    if sliding_window is not None and sliding_window < derived:
        derived, key = sliding_window, "sliding_window"
    if derived == float("inf"):
        if wanted is not None:
            return Length(wanted, derived, None, "given, and the config holds no length")
        if target_length is not None:
            return Length(target_length, derived, None, "the target's: the config holds no length")
        derived = ASSUMED_LENGTH
    parameters = rope_parameters(text, knowledge)
    derived = _scaled(derived, parameters, text, knowledge)
    if wanted is None or (wanted == -1 and knowledge.since("0.14.0")):
        return _derived_length(derived, key, parameters, text, knowledge)
    longest = text.get("model_max_length")
    if wanted > derived and (longest is None or wanted > longest):
        message = (
            f"User-specified max_model_len ({wanted}) is greater than the derived max_model_len "
            f"({key}={derived} or model_max_length={longest} in model's config.json)."
        )
        if not allow_longer:
            raise LengthError("ValidationError", message, key, derived)
        return Length(wanted, derived, key, "given; VLLM_ALLOW_LONG_MAX_MODEL_LEN permits it", True)
    return Length(wanted, derived, key, "given")


def _derived_length(
    derived: float,
    key: str | None,
    parameters: list[Mapping[str, Any]],
    text: ConfigObject,
    knowledge: Knowledge,
) -> Length:
    longrope = any(entry.get("rope_type") == "longrope" for entry in parameters)
    if longrope and knowledge.since("0.11.1"):
        original = text.get("original_max_position_embeddings", derived)
        return Length(int(original), derived, key, "longrope: the length before scaling")
    return Length(int(derived), derived, key, f"`{key}` of the config" if key else "assumed")


def _smallest_length(text: ConfigObject) -> tuple[float, str | None]:
    smallest, key = float("inf"), None
    for name in LENGTH_KEYS:
        value = text.get(name)
        if value is None:
            continue
        if not isinstance(value, int | float):
            message = f"'<' not supported between instances of '{type(value).__name__}' and 'float'"
            raise LengthError("TypeError", message, name, value)
        if value < smallest:
            key = name
        smallest = min(smallest, value)
    longest = text.get("model_max_length")
    return (longest, "model_max_length") if longest else (smallest, key)


def rope_parameters(text: ConfigObject, knowledge: Knowledge) -> list[Mapping[str, Any]]:
    """Return the RoPE parameter sets that count for the length, one for each layer type."""
    name = "rope_parameters" if knowledge.since("0.12.0") else "rope_scaling"
    found = text.get(name)
    if not isinstance(found, Mapping) or not found:
        return []
    if set(found) <= LAYER_TYPES:
        return [entry for entry in found.values() if isinstance(entry, Mapping) and entry]
    return [found]


def _scaled(
    derived: float,
    parameters: list[Mapping[str, Any]],
    text: ConfigObject,
    knowledge: Knowledge,
) -> float:
    """Multiply by the RoPE factor; up to 0.29 a YaRN model starts from its original length."""
    if not parameters or "gemma3" in str(text.get("model_type", "")):
        return derived
    unscaled = _UNSCALED_FROM_0_30 if knowledge.since("0.30.0") else _UNSCALED
    factor: Any = 1.0
    for entry in parameters:
        kind = entry.get("rope_type")
        if "rope_type" not in entry:
            raise LengthError("KeyError", "'rope_type'", "rope_type", None)
        if kind in unscaled:
            continue
        factor = entry.get("factor", factor)
        if kind == "yarn":
            if "original_max_position_embeddings" not in entry:
                key = "original_max_position_embeddings"
                raise LengthError("KeyError", f"'{key}'", key, None)
            derived = entry["original_max_position_embeddings"]
    if factor is None:
        if not knowledge.since("0.18.0"):
            message = "unsupported operand type(s) for *=: 'int' and 'NoneType'"
            raise LengthError("TypeError", message, "factor", None)
        factor = 1.0
    if isinstance(factor, str) and isinstance(derived, int):
        return _repeated(factor, derived)
    if not isinstance(derived, int | float) or not isinstance(factor, int | float):
        kinds = f"'{type(derived).__name__}' and '{type(factor).__name__}'"
        raise LengthError(
            "TypeError", f"unsupported operand type(s) for *=: {kinds}", "factor", factor
        )
    return float(derived * factor) if factor != 1.0 else derived


def _repeated(factor: str, times: int) -> int:
    """Return what `int` makes of a number times a text: the text so many times over."""
    digits = len(factor) * times
    if factor.isdecimal() and digits > _MOST_DIGITS:
        message = (
            f"Exceeds the limit ({_MOST_DIGITS} digits) for integer string conversion: value has "
            f"{digits} digits; use sys.set_int_max_str_digits() to increase the limit"
        )
        raise LengthError("ValueError", message, "factor", factor)
    try:
        return int(factor * min(times, _MOST_DIGITS))
    except ValueError as error:
        raise LengthError("ValueError", str(error), "factor", factor) from error
