"""Where a context length comes from, for reports: which key won, and what was overridden.

The lengths themselves are computed by the release's own `get_context_length` and
`_derive_context_length`; this file finds the key and the place of the number in `config.json`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any

from specpreflight.engines.sglang.config_events import Moment
from specpreflight.engines.sglang.model_facts import ModelFacts
from specpreflight.models.checkpoint import Checkpoint
from specpreflight.models.finding import Origin, Outcome, Value
from specpreflight.models.resolved import Event

#: `CONTEXT_LENGTH_KEYS` of `hf_transformers_utils.py`, the same in all releases; the first that is
#: not null wins, and 2048 is the answer where none is there.
CONTEXT_LENGTH_KEYS = (
    "max_sequence_length",
    "seq_length",
    "max_seq_len",
    "model_max_length",
    "max_position_embeddings",
)
_LENGTHS = re.compile(
    r"context_length \((-?\d+)\) is greater than the derived context_length \((-?\d+)\)"
)


def explain_length(message: str) -> tuple[int, int] | None:
    """Return the wanted and the derived length that an engine message names."""
    match = _LENGTHS.search(message)
    return (int(match.group(1)), int(match.group(2))) if match else None


def length_facts(role: str, facts: ModelFacts, checkpoint: Checkpoint) -> dict[str, Any]:
    """Return the derived length, the key that won, and its value with its place."""
    key = facts.length_key
    pointer = None if key is None else facts.text.pointer(key)
    value = (
        checkpoint.value(role, pointer)
        if pointer is not None
        else Value(
            role,
            facts.derived_context_length,
            Origin("default", name=f"{facts.text.class_name}.{key}" if key else "2048"),
        )
    )
    return {
        f"{role}_derived_length": facts.derived_context_length,
        f"{role}_length_key": key,
        f"{role}_length": value,
    }


def length_events(
    draft: ModelFacts, moment: Moment, values: Callable[[], tuple[Value, ...]]
) -> Iterator[Event]:
    """Yield the event for a draft that is shorter than the target, but let through."""
    messages = [text for _, text in draft.facts.get("log", ())]
    for message in messages:
        lengths = explain_length(message)
        if lengths is None:
            continue
        overridden = any("Overriding the draft model's" in text for text in messages)
        yield Event(
            "context.draft-overridden" if overridden else "context.draft-let-through",
            Outcome.ADJUSTS,
            moment.stage,
            f"the draft's context length {lengths[1]} is overridden with {lengths[0]}",
            engine_message=message,
            source="configs/model_config.py:ModelConfig._derive_context_length",
            values=values(),
            facts={
                "wanted": lengths[0],
                "derived": lengths[1],
                "given": False,
                "reader": moment.reader,
                "loaded": moment.loaded,
            },
        )
        return
