"""The mask token of a block draft, which stands at every place that the block has to fill.

Restates `speculative/dflash_utils.py:parse_dflash_draft_config`, `speculative/dflash_worker.py`
(`dflash_worker_v2.py` from 0.5.14 on) `_resolve_mask_token_id`, and
`speculative/dspark_components/dspark_config.py`: `parse_dspark_draft_config`,
`resolve_runtime_config`. A token or id of the wrong type stops the launch earlier, where the
target's runner reads the draft's config.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from specpreflight.engines.sglang.facts import UNKNOWN
from specpreflight.engines.sglang.pair import Pair
from specpreflight.models.finding import Confidence, Origin, Outcome, Stage, Value
from specpreflight.models.resolved import Event
from specpreflight.models.tokenizer import Tokenizer, tokenizer_of

#: `speculative/dflash_utils.py:DEFAULT_DFLASH_MASK_TOKEN`.
_DEFAULT: Final = "<|MASK|>"
_ID: Final = "mask_token_id"


def mask_token_events(pair: Pair) -> Iterator[Event]:
    """Yield what stops a draft whose mask token has no id, another one, or one without a row."""
    if pair.algorithm == "DSPARK":
        yield from _of_dspark(pair)
    else:
        yield from _of_dflash(pair)


def _of_dspark(pair: Pair) -> Iterator[Event]:
    """Yield the events of DSPARK, which asks no tokenizer."""
    place, stated = _dspark_id(pair)
    if stated is UNKNOWN:
        return
    if stated is None:
        yield _unknown(
            pair,
            "a DSPARK draft has to name its `mask_token_id`, and this one does not",
            "DSpark requires mask_token_id to be set in the draft model config.",
            "ValueError",
        )
        return
    rows = pair.target.text.get("vocab_size")
    if pair.since("0.5.18"):
        rows = pair.target.text.stated("padded_vocab_size") or rows
    if isinstance(stated, int) and isinstance(rows, int) and stated >= rows:
        said = f"DSpark mask_token_id={stated} is outside the target vocab size {rows}."
        yield _outside(pair, place, stated, rows, said)


def _dspark_id(pair: Pair) -> tuple[str, Any]:
    """Return the id that wins, and where it stands: its prefixed name before all others."""
    config = pair.draft.config
    if config.stated("dspark_noise_token_id") is not None:
        return "/dspark_noise_token_id", config.stated("dspark_noise_token_id")
    nested = config.stated("dspark_config")
    if isinstance(nested, Mapping) and _ID in nested:
        return f"/dspark_config/{_ID}", nested[_ID]
    for place, found in ((pair.draft.pointer, pair.draft.text), ("", config)):
        if found.has(_ID):
            return f"{place}/{_ID}", found.get(_ID)
    return _dflash_id(pair)


def _dflash_id(pair: Pair) -> tuple[str, Any]:
    """Return the id and its place; beside `dflash_config` it is looked for from 0.5.18 on."""
    return _stated(pair, _ID)


def _stated(pair: Pair, key: str) -> tuple[str, Any]:
    config = pair.draft.config
    nested = config.stated("dflash_config")
    if isinstance(nested, Mapping) and key in nested:
        return f"/dflash_config/{key}", nested[key]
    if pair.since("0.5.18") and config.has(key):
        return f"/{key}", config.get(key)
    return f"/{key}", None


def _of_dflash(pair: Pair) -> Iterator[Event]:
    """Yield the events of DFLASH, whose worker asks the target's tokenizer."""
    place, stated = _dflash_id(pair)
    token = _stated(pair, "mask_token")[1]
    token = _DEFAULT if token is None else token
    rows = pair.target.text.get("vocab_size")
    if UNKNOWN in (stated, token) or not isinstance(token, str) or not isinstance(rows, int):
        return
    if stated is None:
        yield from _resolved_by_tokenizer(pair, token, rows)
    elif isinstance(stated, int) and stated >= rows:
        yield _outside(pair, place, stated, rows, _dflash_said(token, stated, rows))
    elif isinstance(stated, int) and (tokenizer := _tokenizer(pair)) is not None:
        known = tokenizer.tokens.get(token)
        if known is not None and known != stated:
            yield _conflict(pair, place, token, stated, known, tokenizer)


def _tokenizer(pair: Pair) -> Tokenizer | None:
    """Return the target's tokenizer where the worker has one and its tokens are at hand."""
    if pair.setting("skip_tokenizer_init") or pair.args.was_given("tokenizer_path"):
        return None
    tokenizer = tokenizer_of(pair.target_checkpoint)
    return tokenizer if tokenizer is not None and tokenizer.tokens else None


def _resolved_by_tokenizer(pair: Pair, token: str, rows: int) -> Iterator[Event]:
    """Yield the events for a draft that names no id: a token that is new gets the next free one."""
    if pair.setting("skip_tokenizer_init"):
        yield _unknown(
            pair,
            "the draft names no `mask_token_id`, and --skip-tokenizer-init leaves nobody to ask",
            "DFLASH requires tokenizer initialization when dflash_config.mask_token_id is not set "
            "(skip_tokenizer_init is not supported in this mode).",
            "RuntimeError",
            pair.args.value("skip_tokenizer_init"),
        )
        return
    tokenizer = _tokenizer(pair)
    if tokenizer is None or token in tokenizer.tokens:
        return
    added = max(tokenizer.tokens.values()) + 1
    if added < rows or added != len(set(tokenizer.tokens.values())):
        return
    yield Event(
        "config.mask-token-outside",
        Outcome.CRASHES,
        Stage.WEIGHTS,
        f"the draft names no `mask_token_id`; a new token gets {added} of {rows} rows",
        engine_message=_dflash_said(token, added, rows),
        exception="ValueError",
        source="speculative/dflash_worker.py:_resolve_mask_token_id",
        values=(
            _tokens_of(tokenizer, "the target's tokens", added),
            *pair.target_value(f"{pair.target.pointer}/vocab_size"),
        ),
        confidence=Confidence.INFERRED,
    )


def _dflash_said(token: str, number: int, rows: int) -> str:
    return (
        f"DFLASH mask_token_id is outside the target vocab size. mask_token_id={number}, "
        f"vocab_size={rows}. This likely means mask_token={token!r} requires vocab expansion "
        "beyond the model's embedding size. SGLang does not support resizing target embeddings "
        "for DFLASH yet."
    )


def _outside(pair: Pair, place: str, stated: int, rows: int, said: str) -> Event:
    return Event(
        "config.mask-token-outside",
        Outcome.CRASHES,
        Stage.WEIGHTS,
        f"`{place.rpartition('/')[2]}` {stated} is outside the target's vocabulary of {rows}",
        engine_message=said,
        exception="ValueError",
        source=_source(pair),
        values=(
            *pair.draft_value(place),
            *pair.target_value(f"{pair.target.pointer}/vocab_size"),
        ),
    )


def _conflict(
    pair: Pair, place: str, token: str, stated: int, known: int, tokenizer: Tokenizer
) -> Event:
    return Event(
        "config.mask-token-conflict",
        Outcome.CRASHES,
        Stage.WEIGHTS,
        f"`mask_token_id` is {stated}, and the target's tokenizer has {token[:24]!r} as {known}",
        engine_message=(
            "DFLASH config mismatch: dflash_config.mask_token_id conflicts with tokenizer vocab "
            f"id for dflash_config.mask_token. mask_token={token!r}, mask_token_id={stated}, "
            f"tokenizer_vocab_id={known}."
        ),
        exception="ValueError",
        source=_source(pair),
        values=(*pair.draft_value(place), _tokens_of(tokenizer, token, known)),
    )


def _unknown(pair: Pair, message: str, said: str, exception: str, *values: Value) -> Event:
    return Event(
        "config.mask-token-unknown",
        Outcome.CRASHES,
        Stage.WEIGHTS,
        message,
        engine_message=said,
        exception=exception,
        source=_source(pair),
        values=(*pair.draft_value(f"/{_ID}"), *values),
    )


def _tokens_of(tokenizer: Tokenizer, label: str, number: int) -> Value:
    return Value(label, number, Origin("file", path=tokenizer.file))


def _source(pair: Pair) -> str:
    if pair.algorithm == "DSPARK":
        return "speculative/dspark_components/dspark_config.py:resolve_runtime_config"
    module = "dflash_worker_v2" if pair.since("0.5.14") else "dflash_worker"
    return f"speculative/{module}.py:_resolve_mask_token_id"
