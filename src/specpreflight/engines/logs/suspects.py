"""A draft that is accepted little or never: the rules that explain it, the likeliest first.

What the log itself shows comes first; behind it the causes that public reports name most often for
a server that looks healthy, each of which `check` can confirm or rule out with the checkpoints.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from specpreflight.models.diagnosis import Suspect

#: Warnings that explain a poor acceptance → the rule, and what they mean.
_TOLD: Final = {
    "weights-not-initialized": (
        "parameters-without-weights", "parameters were left without weights"
    ),
    "weights-dropped": ("tensors-dropped", "tensors of the checkpoint were not loaded"),
    "token-map-ignored": ("token-map-unfit", "the token map was not read"),
    "aux-layers-guessed": (
        "vllm-aux-layers-ignored", "the engine guessed the auxiliary layers"
    ),
    "block-size-mismatch": ("step-counts-contradict", "the draft was trained for another block"),
    "gamma-mismatch": ("step-counts-contradict", "the draft was trained for another block"),
    "rope-keys-unrecognized": ("rope-key-layout", "RoPE settings were not read"),
    "mtp-layer-run-again": ("vllm-token-count-unfit", "one MTP layer is run more than once"),
}  # fmt: skip
#: Causes of public reports that leave no trace in the log, the most frequent first.
_SILENT_EAGLE3: Final = (
    ("aux-layers-not-used", "auxiliary layers other than in training"),
    ("head-without-weights", "a draft head without weights"),
    ("vocabulary-map-broken", "a d2t map that does not fit"),
)
_SILENT: Final = (
    ("quantization-contradicts", "draft tensors quantised otherwise than stated"),
    ("dtype-differs", "draft and target in different dtypes"),
    ("rope-theta-differs", "another RoPE base than in training"),
)


def find_suspects(
    engine: str | None,
    values: Mapping[str, Any],
    arguments: Mapping[str, Any],
    warnings: Mapping[str, str],
    *,
    is_falling: bool,
) -> Iterator[Suspect]:
    """Yield what explains a low acceptance; those with evidence in the log first.

    Args:
        engine: whose log it is.
        values: what the messages say (`algorithm`, `draft_class`, `target_quantization` …).
        arguments: the launch's own, as the log prints them.
        warnings: lines that were overlooked, by name.
        is_falling: the length went down while it served.
    """
    draft_class = str(values.get("draft_class", ""))
    method = str(values.get("algorithm") or values.get("method") or "").upper()
    is_eagle3 = "eagle3" in draft_class.lower() or method == "EAGLE3"
    if "eagle3" in draft_class.lower() and method == "EAGLE":
        yield Suspect(
            "algorithm-draft-mismatch", f"an EAGLE-3 draft ({draft_class}) runs as EAGLE", True
        )
    elif method == "EAGLE3" and draft_class and "eagle3" not in draft_class.lower():
        yield Suspect("algorithm-draft-mismatch", f"{draft_class} runs as EAGLE3", True)
    for name, (rule, why) in _TOLD.items():
        if name in warnings:
            yield Suspect(rule, why, True)
    if is_falling and (drafted := values.get("draft_context")):
        yield Suspect(
            "draft-context-shorter",
            f"it falls while requests grow; the draft was made for {drafted} tokens",
            True,
        )
    quantization = values.get("target_quantization") or arguments.get("quantization")
    if quantization and not arguments.get("speculative_draft_model_quantization"):
        yield Suspect("quantization-inherited", f"the draft inherits {quantization}", True)
    if str(arguments.get("dtype")) in {"half", "float16"}:
        rule = "vllm-draft-overflows-half" if engine == "vllm" else "dtype-differs"
        yield Suspect(rule, "draft in float16", True)
    if is_eagle3:
        yield from (Suspect(rule, why) for rule, why in _SILENT_EAGLE3)
    yield from (Suspect(rule, why) for rule, why in _SILENT)
