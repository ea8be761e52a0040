"""The draft's length beside the target's: raised, limited, or limiting.

Restates vLLM `config/speculative.py:_maybe_override_draft_max_position_embeddings` (0.27.0 on),
`_maybe_override_draft_max_model_len`, and `config/vllm.py:_limit_max_model_len_to_draft` (0.33.0).
"""

from __future__ import annotations

from typing import Any

from specpreflight.engines.vllm.config_parts import ConfigObject
from specpreflight.engines.vllm.context_length import rope_parameters
from specpreflight.engines.vllm.knowledge import Knowledge
from specpreflight.engines.vllm.model_config import Model
from specpreflight.engines.vllm.record import Record, engine_value, speculative_value
from specpreflight.models.finding import Outcome, Stage


def raise_positions(
    record: Record, knowledge: Knowledge, method: str | None, draft: Model, target: Model
) -> None:
    """Raise the draft's `max_position_embeddings` in memory where this release does."""
    if not _raises(method, draft.config, knowledge):
        return
    written = draft.config.get("max_position_embeddings")
    wanted = target.max_model_len
    if written is None or wanted is None or written >= wanted:
        return
    value = draft.value("max_position_embeddings")
    draft.config.set("max_position_embeddings", wanted)
    record.add(
        "context.draft-positions-raised",
        Outcome.ADJUSTS,
        Stage.DRAFT_CONFIG,
        f"vLLM raises the draft's `max_position_embeddings` from {written} to {wanted} in memory",
        text=(
            f"Overriding draft model max_position_embeddings from {written} to the target "
            f"model's max_model_len ({wanted}); "
            + (
                "the draft shares the target's positional space."
                if knowledge.since("0.33.0")
                else "EAGLE drafts share the target's positional space."
            )
        ),
        source="config/speculative.py:_maybe_override_draft_max_position_embeddings",
        values=(value, engine_value("target max_model_len", wanted, "ModelConfig.max_model_len")),
    )


def shares_positions(method: str | None, config: ConfigObject, knowledge: Knowledge) -> bool:
    """Restate `draft_shares_target_positions` (0.33.0): a short draft does not limit the target."""
    return method != "draft_model" and _only_sizes_cache(config, knowledge)


def _raises(method: str | None, config: ConfigObject, knowledge: Knowledge) -> bool:
    if knowledge.since("0.33.0"):
        return shares_positions(method, config, knowledge)
    return method in ("eagle", "eagle3") and knowledge.since("0.27.0")


def _only_sizes_cache(config: ConfigObject, knowledge: Knowledge) -> bool:
    """Tell whether every RoPE type uses the length only to size its cache."""
    harmless = knowledge.constant("cache_only_rope_types")
    entries = rope_parameters(config, knowledge)
    return all(entry.get("rope_type", "default") in harmless for entry in entries)


def limit(record: Record, knowledge: Knowledge, wanted: Any, draft: Model, target: Model) -> None:
    """Set the draft's `max_model_len`: the one asked for, else the smaller of both."""
    own, longest = draft.max_model_len, target.max_model_len
    if own is None or longest is None:
        return
    if wanted is None:
        if longest < own:
            record.add(
                "context.draft-length-lowered",
                Outcome.ADJUSTS,
                Stage.DRAFT_CONFIG,
                f"the draft's length is lowered from {own} to the target's {longest}",
                text=(
                    f"Overriding draft model max model len from {own} to {longest}"
                    if knowledge.since("0.22.0")
                    else None
                ),
                source="config/speculative.py:_maybe_override_draft_max_model_len",
                values=(
                    engine_value("draft max_model_len", own, "ModelConfig.max_model_len"),
                    engine_value("target max_model_len", longest, "ModelConfig.max_model_len"),
                ),
            )
        draft.max_model_len = min(own, longest)
        return
    for role, length in (("draft", own), ("target", longest)):
        if wanted > length:
            record.refuse(
                "context.speculative-length-exceeded",
                Stage.DRAFT_CONFIG,
                f"`max_model_len` {wanted} of the speculative config exceeds the {role}'s {length}",
                text=(
                    f"speculative_max_model_len={wanted} cannot be larger than "
                    f"{role}_max_model_len={length}"
                ),
                source="config/speculative.py:_maybe_override_draft_max_model_len",
                values=(
                    speculative_value("max_model_len", wanted),
                    engine_value(f"{role} max_model_len", length, "ModelConfig.max_model_len"),
                ),
            )
            return
    draft.max_model_len = wanted


def limit_target(
    record: Record,
    knowledge: Knowledge,
    runner: str,
    method: str | None,
    draft: Model | None,
    target: Model,
) -> None:
    """Lower the target's length to the draft's where the V2 runner cannot skip drafting."""
    if draft is None or runner != "V2" or not knowledge.since("0.33.0"):
        return
    if shares_positions(method, draft.config, knowledge):
        return
    own, longest = draft.max_model_len, target.max_model_len
    if own is None or longest is None or own >= longest:
        return
    target.max_model_len = own
    record.add(
        "context.target-length-lowered",
        Outcome.ADJUSTS,
        Stage.DRAFT_CONFIG,
        f"vLLM serves {own} tokens instead of {longest}, because the draft reaches no further",
        text=(
            f"The draft model's max_model_len ({own}) is smaller than the target model's "
            f"({longest}) and the V2 model runner can't skip speculation for longer sequences; "
            f"reducing max_model_len to {own}."
        ),
        source="config/vllm.py:_limit_max_model_len_to_draft",
        values=(
            draft.value(draft.length.key or "max_position_embeddings")
            if draft.length is not None
            else engine_value("draft max_model_len", own, "ModelConfig.max_model_len"),
            engine_value("target max_model_len", longest, "ModelConfig.max_model_len"),
        ),
    )
