"""What a DFLASH or DSPARK draft needs beside the target's hidden states.

Restates `speculative/dspark_components/dspark_config.py:parse_dspark_draft_config` and
`model_executor/model_runner.py:init_aux_hidden_state_capture` (from 0.5.16 on
`model_runner_components/attention_backend_setup.py:configure_aux_hidden_state_capture`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from specpreflight.engines.sglang.confidence_head import confidence_head_events
from specpreflight.engines.sglang.draft_reading import BLOCK_DRAFTS
from specpreflight.engines.sglang.mask_token import mask_token_events
from specpreflight.engines.sglang.pair import Pair
from specpreflight.models.finding import Outcome, Stage
from specpreflight.models.resolved import Event


def block_draft_events(pair: Pair) -> Iterator[Event]:
    """Yield what stops a block draft: a target that captures nothing, a token or head it lacks."""
    if pair.algorithm not in BLOCK_DRAFTS:
        return
    yield from _cannot_capture(pair)
    if pair.algorithm == "DSPARK":
        yield from _markov_head_missing(pair)
        yield from confidence_head_events(pair)
    yield from mask_token_events(pair)


def _cannot_capture(pair: Pair) -> Iterator[Event]:
    target = pair.known(pair.target_class)
    offered = {"dflash_capture"} | ({"dspark_capture"} if pair.algorithm == "DSPARK" else set())
    if target is None or offered & target.offers:
        return
    name = target.name
    either = pair.since("0.5.15")
    yield Event(
        "architecture.target-cannot-capture",
        Outcome.CRASHES,
        Stage.WEIGHTS,
        f"this release cannot capture {pair.algorithm} layers from `{name}`",
        engine_message=(
            f"Model {name} implements neither set_dspark_layers_to_capture nor "
            "set_dflash_layers_to_capture, one of which is required for DFLASH/DSPARK."
            if either
            else f"Model {name} does not implement set_dflash_layers_to_capture, which is "
            "required for DFLASH."
        ),
        exception="ValueError",
        source="model_executor/model_runner.py:ModelRunner.init_aux_hidden_state_capture",
        values=pair.target_value("/architectures/0"),
        facts={"architecture": name, "read": "classes"},
    )


def _markov_head_missing(pair: Pair) -> Iterator[Event]:
    """Yield the event for a DSPARK draft without its Markov head, read by the target's runner."""
    place, rank = _markov_rank(pair)
    if not isinstance(rank, int) or rank > 0:
        return
    yield Event(
        "config.markov-head",
        Outcome.REFUSES,
        Stage.DRAFT_CONFIG,
        f"a DSPARK draft has a Markov head, and `markov_rank` is {rank}",
        engine_message=(
            f"DSPARK requires markov_rank > 0 in the draft config, got markov_rank={rank}."
        ),
        exception="ValueError",
        source="model_executor/model_runner_components/spec_aux_hidden_state.py",
        values=pair.draft_value(place),
    )


def _markov_rank(pair: Pair) -> tuple[str, Any]:
    """Return the rank that wins, and where it stands; 0 where none is stated.

    Drafts that keep it in `dflash_config`, as SpecForge writes them, are read from 0.5.23 on.
    """
    config = pair.draft.config
    if config.stated("dspark_markov_rank") is not None:
        return "/dspark_markov_rank", config.stated("dspark_markov_rank")
    for key in ("dspark_config", "dflash_config")[: 2 if pair.since("0.5.23") else 1]:
        nested = config.stated(key)
        if isinstance(nested, Mapping) and "markov_rank" in nested:
            return f"/{key}/markov_rank", nested["markov_rank"] or 0
    for place, found in ((pair.draft.pointer, pair.draft.text), ("", config)):
        if found.has("markov_rank"):
            return f"{place}/markov_rank", found.stated("markov_rank") or 0
    return "/markov_rank", 0
