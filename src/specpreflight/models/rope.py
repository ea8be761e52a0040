"""Rotary embedding settings in one shape, from transformers' v4 and v5 key layouts."""

from __future__ import annotations

from typing import Any, NamedTuple

from specpreflight.models.checkpoint import Checkpoint
from specpreflight.models.finding import Value


class Rope(NamedTuple):
    """What a config states about its rotary embedding; `None` is "not stated".

    `layout` is `v4` (`rope_theta` and `rope_scaling` beside it), `v5` (all in `rope_parameters`),
    `both`, or `None`. Every value comes with its place.
    """

    layout: str | None
    theta: Value | None
    kind: Value | None
    factor: Value | None
    original: Value | None
    partial: Value | None

    @property
    def kind_name(self) -> str:
        """Return the scaling kind in lower case, `default` where there is no scaling."""
        value = None if self.kind is None else self.kind.value
        return value.lower() if isinstance(value, str) else "default"


def read_rope(checkpoint: Checkpoint) -> Rope:
    """Read the rotary settings of a checkpoint's language model.

    In v5 the parameters may be keyed by layer type (`{"full_attention": {…}, …}`, transformers
    5.0, Gemma-3 and ModernBERT); those of full attention are taken.
    """
    prefix = checkpoint.text_pointer
    text = checkpoint.text
    parameters: Any = text.get("rope_parameters")
    scaling: Any = text.get("rope_scaling")
    has_v5 = isinstance(parameters, dict) and bool(parameters)
    has_v4 = isinstance(scaling, dict) or "rope_theta" in text
    layout = {(True, True): "both", (True, False): "v5", (False, True): "v4"}.get((has_v5, has_v4))
    base = f"{prefix}/rope_parameters" if has_v5 else f"{prefix}/rope_scaling"
    inner: Any = parameters if has_v5 else scaling if isinstance(scaling, dict) else {}
    if isinstance(inner.get("full_attention"), dict):
        base, inner = f"{base}/full_attention", inner["full_attention"]

    def stated(label: str, *keys: str) -> Value | None:
        for key in keys:
            if inner.get(key) is not None:
                return checkpoint.value(label, f"{base}/{key}")
        return None

    def beside(label: str, key: str) -> Value | None:
        if text.get(key) is None:
            return None
        return checkpoint.value(label, f"{prefix}/{key}")

    role = checkpoint.role
    return Rope(
        layout=layout,
        theta=stated(role, "rope_theta") or beside(role, "rope_theta"),
        kind=stated(role, "rope_type", "type"),
        factor=stated(role, "factor"),
        original=stated(role, "original_max_position_embeddings"),
        partial=stated(role, "partial_rotary_factor") or beside(role, "partial_rotary_factor"),
    )
