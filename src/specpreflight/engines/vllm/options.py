"""The engine arguments of a launch that decide a speculative start, with vLLM's defaults."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from specpreflight.engines.vllm.knowledge import load
from specpreflight.models.launch import Hardware, Launch

_TRUE = frozenset({"1", "true"})


@dataclass(frozen=True, slots=True)
class Options:
    """Values by the engine's own names; `None` is "not given".

    `speculative` is the parsed JSON of `--speculative-config` (any JSON value), `spec_flags` the
    `--spec-…` short forms by the key that they set. `in_process` is `LLM(...)` instead of a server.
    """

    tensor_parallel_size: int = 1
    pipeline_parallel_size: int = 1
    data_parallel_size: int = 1
    max_model_len: int | None = None
    max_num_batched_tokens: int | None = None
    max_num_scheduled_tokens: int | None = None
    max_num_seqs: int | None = None
    max_num_active_seqs: int | None = None
    quantization: str | None = None
    allow_deprecated_quantization: bool = False
    hf_overrides: Mapping[str, Any] | None = None
    speculative: Any = None
    spec_flags: Mapping[str, Any] | None = None
    async_scheduling: bool | None = None
    enable_chunked_prefill: bool | None = None
    enable_expert_parallel: bool = False
    enable_lora: bool = False
    enable_dbo: bool = False
    enforce_eager: bool = False
    enable_elastic_ep: bool = False
    enable_eplb: bool = False
    decode_context_parallel_size: int = 1
    prefill_context_parallel_size: int = 1
    nnodes: int = 1
    kv_sharing_fast_prefill: bool = False
    disable_sliding_window: bool = False
    trust_remote_code: bool = False
    logits_processors: bool = False
    all2all_backend: str | None = None
    attention_backend: str | None = None
    dtype: str | None = None
    kv_cache_dtype: str | None = None
    distributed_executor_backend: str | None = None
    performance_mode: str | None = None
    model_impl: str = "auto"
    force_runner: bool | None = None
    runner_text: str | None = None
    allow_longer: bool = False
    offline: bool = False
    memory_mib: int | None = None
    gpu: str | None = None
    gpus: int | None = None
    capability: int | None = None
    in_process: bool = False


#: Option → the parsed argument's name; those whose names differ.
_RENAMED = {"speculative": "speculative_config"}


def read_options(parsed: Mapping[str, Any], launch: Launch) -> Options:
    """Return the options from arguments that vLLM's own parser would have typed already."""
    found: dict[str, Any] = {}
    for name in Options.__slots__:
        value = parsed.get(_RENAMED.get(name, name))
        if value is not None:
            found[name] = value
    found["logits_processors"] = bool(parsed.get("logits_processors"))
    found["spec_flags"] = {
        key: parsed[dest]
        for dest, key in (
            ("spec_method", "method"),
            ("spec_model", "model"),
            ("spec_tokens", "num_speculative_tokens"),
        )
        if parsed.get(dest) is not None
    }
    if found.get("quantization") in ("", "None"):
        # `optional_type` reads both as no value.
        del found["quantization"]
    found["attention_backend"] = _attention_backend(parsed, launch)
    if not isinstance(found.get("hf_overrides"), Mapping):
        found["hf_overrides"] = None
    return Options(**found | _surroundings(launch, launch.hardware))


def _attention_backend(parsed: Mapping[str, Any], launch: Launch) -> str | None:
    """Return the back end that a flag, the JSON of another, or the old variable chooses."""
    nested = parsed.get("attention_config")
    named = nested.get("backend") if isinstance(nested, Mapping) else None
    chosen = parsed.get("attention_backend") or named
    if chosen is None and not load(launch.engine.version).since("0.15.0"):
        chosen = launch.variable("VLLM_ATTENTION_BACKEND")
    return chosen.upper() if isinstance(chosen, str) and chosen.lower() != "auto" else None


def _surroundings(launch: Launch, hardware: Hardware) -> dict[str, Any]:
    runner = launch.variable("VLLM_USE_V2_MODEL_RUNNER")
    return {
        "force_runner": None if runner in (None, "") else _is_true(str(runner)),
        "runner_text": runner,
        "allow_longer": _is_true(launch.variable("VLLM_ALLOW_LONG_MAX_MODEL_LEN") or "0"),
        "offline": any(
            (launch.variable(name) or "").lower() in ("1", "true", "yes", "on")
            for name in ("HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE")
        ),
        "memory_mib": hardware.memory_mib,
        "gpu": hardware.gpu or hardware.profile,
        "gpus": hardware.gpus,
        "capability": None
        if hardware.capability is None
        else hardware.capability[0] * 10 + hardware.capability[1],
        "in_process": getattr(launch.facts.get("command"), "entry", None) == "vllm.LLM",
    }


def _is_true(text: str) -> bool:
    """Read a switch as `vllm/envs.py` does: `bool(int(text))`, or the words 1 and true."""
    stripped = text.strip().lower()
    try:
        return bool(int(stripped))
    except ValueError:
        return stripped in _TRUE
