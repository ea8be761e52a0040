"""The head of a DSPARK draft that says how sure it is of each token.

Restates `models/dspark.py`: `build_confidence_head` and
`DSparkDraftMixin._load_confidence_weights`, the same text in 0.5.16 to 0.5.23. The head is built
unless `SGLANG_RAGGED_VERIFY_MODE` is `static`, which it is if nobody sets it.
`enable_confidence_head` is only looked for: its value, which the engine's own message wants to be
`False`, is never read.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from specpreflight.engines.sglang.pair import Pair
from specpreflight.engines.sglang.server_args.speculative.dspark import (
    RAGGED_VERIFY_MODES,
    ragged_verify_mode,
)
from specpreflight.models.finding import Origin, Outcome, Stage, Value
from specpreflight.models.resolved import Event
from specpreflight.models.weights import names_of

#: Classes that load their weights with the mixin's own `load_weights`.
_CLASSES: Final = frozenset({"DSparkDraftModel", "Qwen3DSparkModel", "LingDSparkModel"})
_PARAMETERS: Final = frozenset({"confidence_head.proj.bias", "confidence_head.proj.weight"})
_VARIABLE: Final = "SGLANG_RAGGED_VERIFY_MODE"


def confidence_head_events(pair: Pair) -> Iterator[Event]:
    """Yield what stops a draft whose confidence head is built, and has no weights or no rank."""
    mode = ragged_verify_mode(pair.args)
    if pair.draft_class not in _CLASSES or mode not in RAGGED_VERIFY_MODES or mode == "static":
        return
    asked = Value("mode", mode, Origin("environment", name=_VARIABLE))
    config = pair.draft.config
    rank = config.stated("markov_rank", 0)
    if config.stated("confidence_head_with_markov") and rank == 0:
        yield Event(
            "config.confidence-head",
            Outcome.CRASHES,
            Stage.WEIGHTS,
            "the confidence head takes Markov features, and `markov_rank` is 0 at the top level",
            engine_message=(
                "DSpark confidence_head_with_markov requires markov_rank > 0, got markov_rank=0."
            ),
            exception="ValueError",
            source="models/dspark.py:build_confidence_head",
            values=(*pair.draft_value("/confidence_head_with_markov"), asked),
        )
        return
    names = names_of(pair.draft_checkpoint)
    missing = [] if names is None else sorted(_PARAMETERS - names)
    if not missing:
        return
    yield Event(
        "config.confidence-head",
        Outcome.CRASHES,
        Stage.WEIGHTS,
        f"verify mode {mode} needs a confidence head, and the draft has no `{missing[0]}`",
        engine_message=(
            f"DSpark confidence head is enabled but the checkpoint is missing {missing}. Provide a "
            "checkpoint with trained confidence weights, or disable the confidence head "
            "(enable_confidence_head=False)."
        ),
        exception="ValueError",
        source="models/dspark.py:DSparkDraftMixin._load_confidence_weights",
        values=(asked,),
    )
