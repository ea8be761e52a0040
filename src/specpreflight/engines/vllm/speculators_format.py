"""Drafts in the speculators format: how vLLM turns their config into one of its own.

Restates vLLM `transformers_utils/configs/speculators/base.py` and `algos.py`.
"""

from __future__ import annotations

from collections.abc import Mapping
from copy import deepcopy
from typing import Any

from specpreflight.engines.vllm.knowledge import Knowledge

#: What a `model_type` of the inner layer becomes, from 0.24.0; before, always the Llama class.
_EAGLE3_CLASSES = {"qwen3": "Eagle3Qwen3ForCausalLM", "llama": "Eagle3LlamaForCausalLM"}
_PEAGLE_CLASSES = {"qwen3": "PeagleQwen3ForCausalLM", "llama": "PeagleLlamaForCausalLM"}


class FormatError(Exception):
    """vLLM refuses a speculators config; `pointer` is the place that it stumbles over."""

    def __init__(self, text: str, pointer: str, exception: str = "ValidationError") -> None:
        super().__init__(text)
        self.text = text
        self.pointer = pointer
        self.exception = exception


def is_speculators(root: Mapping[str, Any]) -> bool:
    """Tell whether vLLM reads this `config.json` as a speculators config."""
    return root.get("model_type") is None and root.get("speculators_config") is not None


def draft_attributes(root: Mapping[str, Any], knowledge: Knowledge) -> dict[str, Any]:
    """Return the attributes of the `SpeculatorsConfig` that vLLM makes of a draft's config.

    Raises:
        FormatError: vLLM refuses the config.
    """
    kind = root.get("speculators_model_type")
    known = knowledge.constant("speculators_types")
    if kind not in known:
        functions = ", ".join(f"'{name}': <function update_{name}>" for name in known)
        raise FormatError(
            f"Expected one of: {{{functions}}}. Please ensure you're loading a "
            "speculators-format model.",
            "/speculators_model_type",
        )
    if not knowledge.since("0.16.0"):
        check_structure(root)
    layer = root.get("transformer_layer_config", {})
    attributes = dict(deepcopy(layer)) if isinstance(layer, Mapping) else {}
    if not knowledge.since("0.16.0"):
        tokens = root["speculators_config"]["proposal_methods"][0]["speculative_tokens"]
        name = "num_speculative_tokens" if knowledge.since("0.11.0") else "num_lookahead_tokens"
        attributes = {"method": kind, name: tokens} | attributes
    attributes |= _of_algorithm(str(kind), root, attributes, knowledge)
    if knowledge.since("0.19.0"):
        attributes["model_type"] = "speculators"
    return attributes


def check_structure(root: Mapping[str, Any]) -> None:
    """Restate `validate_speculators_config`.

    Raises:
        FormatError: something that it reads is missing.
    """
    try:
        settings = root["speculators_config"]
        _ = settings["proposal_methods"][0]["speculative_tokens"]
        _ = settings["verifier"]["name_or_path"]
        _ = root["speculators_model_type"]
    except (KeyError, IndexError, TypeError) as error:
        raise FormatError("Invalid speculators config structure", "/speculators_config") from error
    if "transformer_layer_config" not in root:
        raise FormatError("Must provide transformer_layer_config", "/transformer_layer_config")


def speculative_keys(root: Mapping[str, Any], knowledge: Knowledge) -> dict[str, Any]:
    """Return the speculative config that vLLM builds where such a draft is given as the model."""
    check_structure(root)
    method = root["speculators_model_type"]
    keys = {
        "method": method,
        "num_speculative_tokens": root["speculators_config"]["proposal_methods"][0][
            "speculative_tokens"
        ],
    }
    if method == "peagle" and knowledge.since("0.22.0"):
        keys |= {"method": "eagle3", "parallel_drafting": True}
    elif method == "dflash2":
        keys["method"] = "dflash"
    return keys


def _of_algorithm(
    kind: str, root: Mapping[str, Any], layer: Mapping[str, Any], knowledge: Knowledge
) -> dict[str, Any]:
    """Restate the `update_…` function of one algorithm."""
    found: dict[str, Any] = {"draft_vocab_size": root.get("draft_vocab_size")}
    if root.get("target_hidden_size") is not None:
        found["target_hidden_size"] = root["target_hidden_size"]
    if kind in ("eagle3", "peagle"):
        found["norm_before_residual"] = root.get("norm_before_residual", kind == "eagle3")
        found["architectures"] = [_eagle_class(kind, layer, knowledge)]
        layers = root.get("eagle_aux_hidden_state_layer_ids")
        if layers and knowledge.since("0.11.1"):
            found["eagle_aux_hidden_state_layer_ids"] = layers
        if kind == "peagle":
            found["pard_token"] = _required(root, "mask_token_id")
        return found
    layers = _required(root, "aux_hidden_state_layer_ids")
    found["eagle_aux_hidden_state_layer_ids"] = layers
    inner = [layer_id - 1 for layer_id in layers] if knowledge.since("0.22.0") else layers
    if kind == "dspark":
        wanted = [
            name
            for name in root.get("architectures") or []
            if name in ("Qwen3DSparkModel", "Qwen3OmniDSparkModel") and knowledge.since("0.29.0")
        ]
        found["architectures"] = wanted or ["Qwen3DSparkModel"]
        found["target_layer_ids"] = inner
        if root.get("block_size") is not None:
            found["block_size"] = root["block_size"]
        return found
    found["architectures"] = ["DFlash2DraftModel" if kind == "dflash2" else "DFlashDraftModel"]
    found["dflash_config"] = {
        "mask_token_id": _required(root, "mask_token_id"),
        "target_layer_ids": inner,
    }
    return found


def _eagle_class(kind: str, layer: Mapping[str, Any], knowledge: Knowledge) -> str:
    classes = _PEAGLE_CLASSES if kind == "peagle" else _EAGLE3_CLASSES
    if not knowledge.since("0.24.0"):
        return classes["llama"]
    model_type = layer.get("model_type", "llama")
    if model_type not in classes:
        name = "PEagle" if kind == "peagle" else "Eagle3"
        raise FormatError(
            f"Unsupported model_type {model_type} for {name} speculator",
            "/transformer_layer_config/model_type",
        )
    return classes[model_type]


def _required(root: Mapping[str, Any], key: str) -> Any:
    if key not in root:
        raise FormatError(f"'{key}'", f"/{key}", "KeyError")
    return root[key]
