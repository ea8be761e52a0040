"""Interim."""

from __future__ import annotations

from collections.abc import Mapping
from copy import deepcopy
from typing import Any

from specpreflight.engines.sglang.model_facts import ConfigObject
from specpreflight.engines.vllm import speculators_format
from specpreflight.engines.vllm.knowledge import Knowledge
from specpreflight.models.checkpoint import Checkpoint

_CLASSES = {
    "llama": (
        "LlamaConfig",
        {
            "max_position_embeddings": 2048,
            "vocab_size": 32000,
            "num_attention_heads": 32,
            "hidden_size": 4096,
        },
    ),
    "qwen3": (
        "Qwen3Config",
        {"max_position_embeddings": 32768, "vocab_size": 151936, "num_attention_heads": 32},
    ),
    "qwen2": (
        "Qwen2Config",
        {"max_position_embeddings": 32768, "vocab_size": 151936, "num_attention_heads": 32},
    ),
    "qwen3_moe": ("Qwen3MoeConfig", {"max_position_embeddings": 32768, "vocab_size": 151936}),
    "deepseek_v3": ("DeepseekV3Config", {"max_position_embeddings": 4096}),
    "glm4_moe": ("Glm4MoeConfig", {}),
    "gpt_oss": ("GptOssConfig", {}),
    "mimo": ("MiMoConfig", {}),
    "qwen3_next": ("Qwen3NextConfig", {}),
    "mistral": ("MistralConfig", {}),
    "qwen2_5_vl": ("Qwen2_5_VLConfig", {}),
    "kimi_k2": ("DeepseekV3Config", {}),
    "kimi_k25": ("Kimi_K25Config", {}),
    "mlp_speculator": ("MLPSpeculatorConfig", {}),
    "medusa": ("MedusaConfig", {}),
    "minimax_m2": ("MiniMaxM2Config", {}),
    "qwen3_vl": ("Qwen3VLConfig", {}),
    "llama4": ("Llama4Config", {}),
    "qwen2_5_vl_text": ("Qwen2_5_VLTextConfig", {}),
}


class ReadingError(Exception):
    """A config that vLLM cannot read."""

    def __init__(
        self,
        topic,
        message,
        text,
        exception="ValidationError",
        pointer=None,
        source="transformers_utils/config.py:get_config",
    ):
        super().__init__(text)
        self.topic, self.message, self.text, self.exception, self.pointer, self.source = (
            topic,
            message,
            text,
            exception,
            pointer,
            source,
        )


def read_config(
    checkpoint: Checkpoint,
    knowledge: Knowledge,
    overrides: Mapping[str, Any] | None,
    *,
    offline: bool,
    trust_remote_code: bool,
) -> ConfigObject:
    if checkpoint.problem is not None:
        kind = checkpoint.problem.kind
        if kind == "invalid":
            raise ReadingError(
                "config.invalid-json",
                "the {role}'s config.json is not valid JSON",
                f"It looks like the config file at '{checkpoint.given}/config.json' is not a valid JSON file.",
                "OSError",
            )
        raise ReadingError(
            "files.{role}-missing",
            "vLLM finds no config for the {role}",
            f"Invalid repository ID or local directory specified: '{checkpoint.given}'.",
        )
    root = deepcopy(checkpoint.config.root)
    if speculators_format.is_speculators(root):
        try:
            values = speculators_format.draft_attributes(root, knowledge)
        except speculators_format.FormatError as e:
            raise ReadingError("config.speculators-format", "x", e.text, e.exception, e.pointer)
        return _standard(ConfigObject("SpeculatorsConfig", values), knowledge)
    mt = root.get("model_type")
    if mt is None:
        raise ReadingError(
            "config.model-type-missing",
            "no model_type",
            f"Unrecognized model in {checkpoint.given}. Should have a `model_type` key in its config.json.",
        )
    if (
        mt not in _CLASSES
        or (mt in ("kimi_k25",) and not knowledge.since("0.15.0"))
        or (mt == "kimi_k2" and not knowledge.since("0.17.0"))
    ):
        raise ReadingError(
            "config.unknown-model-type",
            "unknown model type",
            f"The checkpoint you are trying to load has model type `{mt}` but Transformers does not recognize this architecture.",
        )
    return _standard(_object(root), knowledge)


def _object(root):
    name, defaults = _CLASSES.get(root.get("model_type"), ("PretrainedConfig", {}))
    values = dict(defaults) | root
    for k, v in list(values.items()):
        if (
            isinstance(v, dict)
            and k.endswith("_config")
            and k != "quantization_config"
            and "model_type" in v
        ):
            values[k] = _object(v)
    return ConfigObject(name, values, {k: f"/{k}" for k in root})


def _standard(config, knowledge):
    for c in [config] + [v for v in config.values.values() if isinstance(v, ConfigObject)]:
        rs = c.get("rope_scaling") or c.get("rope_parameters")
        if isinstance(rs, dict):
            if "rope_type" not in rs and "type" in rs:
                rs["rope_type"] = rs["type"]
            if rs.get("rope_type") == "su":
                rs["rope_type"] = "longrope"
            c.set("rope_parameters", rs)
    return config
