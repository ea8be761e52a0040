"""What the shapes of a draft's tensors say about the numbers in its config."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from specpreflight.models.weights import Tensor

_LAYER = re.compile(r"(?:^|\.)layers\.(\d+)\.")


class Contradiction(NamedTuple):
    """A key of the config whose value the weights contradict.

    `stated` is the config's value (`None` where the key is absent or null and a default would
    apply), `found` what `tensor` says.
    """

    key: str
    stated: Any
    found: int
    tensor: Tensor


def find_contradictions(
    config: Mapping[str, Any], tensors: Mapping[str, Tensor]
) -> Iterator[Contradiction]:
    """Yield the numbers of a draft head's config that its tensors contradict.

    For heads of one dense decoder shape (EAGLE, EAGLE-3, DFlash): widths, heads, vocabulary, and
    the number of layers. Tensors whose shapes are packed are left out.
    """
    for key, (found, tensor) in _told_by_shapes(config, tensors).items():
        stated = config.get(key)
        if isinstance(stated, bool) or not isinstance(stated, int):
            continue
        if stated != found:
            yield Contradiction(key, stated, found, tensor)


def _told_by_shapes(
    config: Mapping[str, Any], tensors: Mapping[str, Tensor]
) -> dict[str, tuple[int, Tensor]]:
    """Return `{config key: (number, the tensor that tells it)}`."""
    told: dict[str, tuple[int, Tensor]] = {}

    def tell(key: str, suffix: str, dimension: int, divisor: int = 1) -> None:
        tensor = _first(tensors, suffix, dimension)
        if tensor is not None and divisor > 0 and tensor.shape[dimension] % divisor == 0:
            told[key] = (tensor.shape[dimension] // divisor, tensor)

    tell("hidden_size", "post_attention_layernorm.weight", 0)
    tell("intermediate_size", "mlp.gate_proj.weight", 0)
    tell("vocab_size", "embed_tokens.weight", 0)
    heads, head = config.get("num_attention_heads"), config.get("head_dim")
    if isinstance(heads, int) and isinstance(head, int):
        tell("head_dim", "self_attn.q_proj.weight", 0, heads)
        if "head_dim" not in told or told["head_dim"][0] != head:
            tell("num_attention_heads", "self_attn.q_proj.weight", 0, head)
        if told.get("head_dim", (head,))[0] == head:
            tell("num_key_value_heads", "self_attn.k_proj.weight", 0, head)
    if told.get("head_dim", (head,))[0] != head and told.get("num_attention_heads"):
        # One wrong number explains the rows; head_dim is the one that exporters get wrong.
        del told["num_attention_heads"]
    if config.get("draft_vocab_size") is not None:
        tell("draft_vocab_size", "lm_head.weight", 0)
    layers = _count_layers(tensors)
    if layers is not None:
        told["num_hidden_layers"] = layers
    return told


def _first(tensors: Mapping[str, Tensor], suffix: str, dimension: int) -> Tensor | None:
    """Return the first tensor of the first layer whose name ends so."""
    for name in sorted(tensors):
        if (name == suffix or name.endswith(f".{suffix}")) and dimension < len(tensors[name].shape):
            return tensors[name]
    return None


def _count_layers(tensors: Mapping[str, Tensor]) -> tuple[int, Tensor] | None:
    """Return how many numbered layers there are, and a tensor of the last."""
    last: tuple[int, Tensor] | None = None
    for name, tensor in tensors.items():
        found = _LAYER.search(name)
        if found is not None and (last is None or int(found[1]) + 1 > last[0]):
            last = int(found[1]) + 1, tensor
    return last
