"""What breaks only once requests run, and can be told from the launch.

Restates `managers/scheduler.py` (which batches are merged), `speculative/eagle_info.py` and
`eagle_utils.py` (what a finished batch leaves behind), `model_executor/model_runner.py` (the width
of the request pool) and `layers/rotary_embedding.py` (the rows of the rotary table).
"""

from __future__ import annotations

from collections.abc import Iterator

from specpreflight.engines.sglang.engine_source import OVERRIDE
from specpreflight.engines.sglang.pair import Pair
from specpreflight.models.finding import Confidence, Outcome, Stage
from specpreflight.models.resolved import Event

#: Slots of a request's row past its last token, where the context length is reached (to 0.4.10).
_SPARE_SLOTS = 8


def serving_events(pair: Pair) -> Iterator[Event]:
    """Yield what will go wrong while requests are served."""
    yield from _standalone_widths(pair)
    yield from _rows_too_short(pair)
    yield from _rotary_table_short(pair)


def _standalone_widths(pair: Pair) -> Iterator[Event]:
    """A batch that finished leaves hidden states of the target's width, the next one the draft's.

    `create_idle_input(hidden_size=batch.model_config.hidden_size)` in `EagleVerifyInput.verify`;
    the scheduler merges a new batch into one whose requests have all finished. 0.5.12 leaves none;
    spec v2 (0.5.8 on) merges indices.
    """
    if pair.algorithm != "STANDALONE" or not pair.since("0.5.2") or pair.since("0.5.12"):
        return
    if pair.since("0.5.8") and pair.setting("disable_overlap_schedule") is not True:
        return
    theirs, ours = pair.target.text.get("hidden_size"), pair.draft.text.get("hidden_size")
    if not isinstance(theirs, int) or not isinstance(ours, int) or theirs == ours:
        return
    if pair.setting("max_running_requests") == 1:
        return
    yield Event(
        "serving.standalone-widths",
        Outcome.CRASHES,
        Stage.SERVING,
        f"the hidden sizes {theirs} and {ours} meet when a batch ends while a request waits",
        engine_message=(
            "Sizes of tensors must match except in dimension 0. Expected size "
            f"{theirs} but got size {ours} for tensor number 1 in the list."
        ),
        exception="RuntimeError",
        source="speculative/eagle_info.py:EagleDraftInput.merge_batch",
        values=pair.text_values("hidden_size"),
    )


def _rows_too_short(pair: Pair) -> Iterator[Event]:
    """Draft tokens of a request that reaches the context length leave its row of the pool.

    The row is `context_len + 4` wide up to 0.4.10.post2; 0.5.1 adds the draft tokens. A request
    runs until it has `context_len - 4` tokens in the cache, then drafts go behind them. Only told
    where the launch limits requests, so that they do reach the limit.
    """
    if pair.since("0.5.1"):
        return
    limited = pair.args.was_given("context_length") or bool(pair.setting("allow_auto_truncate"))
    names = ("num_steps", "eagle_topk", "num_draft_tokens")
    steps, topk, tokens = (pair.setting(f"speculative_{name}") for name in names)
    if not limited or not all(isinstance(number, int) for number in (steps, topk, tokens)):
        return
    needed = max(tokens, topk * steps)
    if needed <= _SPARE_SLOTS:
        return
    yield Event(
        "serving.rows-too-short",
        Outcome.CRASHES,
        Stage.SERVING,
        f"{needed} draft slots do not fit behind a request that reaches the context length",
        engine_message="scatter gather kernel index out of bounds",
        source="model_executor/model_runner.py:ModelRunner.init_memory_pool",
        values=tuple(
            pair.args.value(field)
            for field in ("context_length", *(f"speculative_{name}" for name in names))
        ),
        facts={"spare": _SPARE_SLOTS},
        confidence=Confidence.OBSERVED,
    )


def _rotary_table_short(pair: Pair) -> Iterator[Event]:
    """The draft is let through for longer requests, and its rotary table keeps its own rows.

    The kernel does not check positions (`apply_rope_with_cos_sin_cache_inplace`). Only told where
    the launch asks for it, by the variable or `--context-length`: without either the same release
    lets the draft through as well, and whether requests get that long is open.
    """
    if pair.knowledge.probe("context.override-rewrites-draft") is not False:
        return
    asked = pair.args.environment.get(OVERRIDE) is not None or pair.args.was_given("context_length")
    rows, served = pair.draft.text.get("max_position_embeddings"), pair.draft.context_length
    derived = pair.draft.derived_context_length
    if not asked or not isinstance(rows, int) or served is None or derived is None:
        return
    rows = max(rows, derived)
    if served <= rows:
        return
    yield Event(
        "serving.rotary-table-short",
        Outcome.CRASHES,
        Stage.SERVING,
        f"requests past {rows} tokens read beyond the draft's rotary table, up to {served}",
        source="layers/rotary_embedding.py:RotaryEmbedding.forward_cuda",
        values=pair.draft_value(f"{pair.draft.pointer}/max_position_embeddings"),
        facts={"read": "probes.context.override-rewrites-draft"},
        confidence=Confidence.OBSERVED,
    )
