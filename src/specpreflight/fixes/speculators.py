"""Restate a speculators config as the one that SGLang reads, where both mean the same draft."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from specpreflight.errors import UsageError

#: Keys beside the layer's that mean the same in both layouts.
_SHARED: Final = ("draft_vocab_size", "target_hidden_size", "torch_dtype", "dtype")
#: Keys under which speculators trains another computation than SGLang's class runs.
_UNKNOWN_TO_SGLANG: Final = ("norm_before_fc", "fc_norm", "norm_output", "embed_requires_grad")
#: Targets that do not add one to each aux layer id (`deepseek_v2.py`).
_OTHER_NUMBERS: Final = ("Deepseek", "Kimi")


def is_speculators(root: Mapping[str, Any]) -> bool:
    """Return whether a config is in speculators' layout."""
    return "speculators_model_type" in root


def flatten_config(root: Mapping[str, Any], target: str | None) -> dict[str, Any]:
    """Return SGLang's config of a speculators draft; `target` is the target's architecture.

    Speculators numbers aux layers by their input, SGLang by their output, so each id becomes one
    less.

    Raises:
        UsageError: SGLang would compute something else, or that can't be told.
    """
    reasons = tuple(_reasons_against(root, target))
    if reasons:
        raise UsageError(
            f"this speculators draft can't be written for SGLang: {'; '.join(reasons)}",
            hint="vLLM reads it as it is",
        )
    flat = dict(root["transformer_layer_config"])
    flat |= {key: root[key] for key in _SHARED if root.get(key) is not None}
    flat |= {"architectures": ["LlamaForCausalLMEagle3"], "tie_word_embeddings": False}
    ids = root.get("eagle_aux_hidden_state_layer_ids")
    if ids:
        flat["eagle_config"] = {
            "use_aux_hidden_state": True,
            "eagle_aux_hidden_state_layer_ids": [each - 1 for each in ids],
        }
    return flat


def _reasons_against(root: Mapping[str, Any], target: str | None) -> Iterator[str]:
    kind, layer = root.get("speculators_model_type"), root.get("transformer_layer_config")
    if kind != "eagle3":
        yield f"its type is {kind!r}, only 'eagle3' is known"
    if not isinstance(layer, dict):
        yield "it has no `transformer_layer_config`"
    elif layer.get("model_type") != "llama":
        yield f"its layer is {layer.get('model_type')!r}, SGLang's class is a Llama layer"
    if root.get("norm_before_residual", True) is not False:
        yield "it was trained with `norm_before_residual`, which SGLang does not have"
    for key in _UNKNOWN_TO_SGLANG:
        if root.get(key):
            yield f"`{key}` is set"
    yield from _doubts_of_ids(root.get("eagle_aux_hidden_state_layer_ids"), target)


def _doubts_of_ids(ids: Any, target: str | None) -> Iterator[str]:
    if not ids:
        return
    if not isinstance(ids, list) or any(type(each) is not int or each < 1 for each in ids):
        yield "its aux layer ids are no list of numbers from 1 on"
    elif target is None:
        yield "it names aux layers, whose numbers depend on the target (give --target)"
    elif target.startswith(_OTHER_NUMBERS):
        yield f"{target} numbers aux layers in its own way"
