"""What a DFLASH or DSPARK draft needs of the target beside its hidden states.

Restates `speculative/dflash_worker.py` (`dflash_worker_v2.py` from 0.5.16 on) and
`model_executor/model_runner.py:init_aux_hidden_state_capture` (from 0.5.16 on
`model_runner_components/attention_backend_setup.py:configure_aux_hidden_state_capture`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from specpreflight.engines.sglang.draft_reading import BLOCK_DRAFTS
from specpreflight.engines.sglang.pair import Pair
from specpreflight.models.finding import Outcome, Stage
from specpreflight.models.resolved import Event


def block_draft_events(pair: Pair) -> Iterator[Event]:
    """Yield what stops a block draft: a target that captures nothing, a mask token it lacks."""
    if pair.algorithm not in BLOCK_DRAFTS:
        return
    yield from _cannot_capture(pair)
    if pair.algorithm == "DFLASH":
        yield from _mask_token_outside(pair)


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


def _mask_token_outside(pair: Pair) -> Iterator[Event]:
    """Yield the event for a mask token that the target's embedding has no row for."""
    place, stated = _mask_token_id(pair)
    rows = pair.target.text.get("vocab_size")
    if not isinstance(stated, int) or not isinstance(rows, int) or stated < rows:
        return
    yield Event(
        "config.mask-token-outside",
        Outcome.CRASHES,
        Stage.WEIGHTS,
        f"`mask_token_id` {stated} is outside the target's vocabulary of {rows}",
        engine_message=(
            f"DFLASH mask_token_id is outside the target vocab size. mask_token_id={stated}, "
            f"vocab_size={rows}."
        ),
        exception="ValueError",
        source="speculative/dflash_worker.py:_resolve_mask_token_id",
        values=(
            *pair.draft_value(f"{place}/mask_token_id"),
            *pair.target_value(f"{pair.target.pointer}/vocab_size"),
        ),
    )


def _mask_token_id(pair: Pair) -> tuple[str, Any]:
    nested = pair.draft.config.get("dflash_config")
    if isinstance(nested, Mapping) and nested.get("mask_token_id") is not None:
        return "/dflash_config", nested["mask_token_id"]
    return "", pair.draft.config.get("mask_token_id")
