"""The scheduler's budget and asynchronous scheduling beside speculation.

Restates vLLM `engine/arg_utils.py` (`get_batch_defaults`, `_set_default_max_num_seqs_and_…`, the
LoRA test), `config/scheduler.py:verify_max_model_len` and, of `config/vllm.py`,
`_set_max_num_scheduled_tokens` and the tests of asynchronous scheduling.
"""

from __future__ import annotations

from dataclasses import dataclass

from specpreflight.engines.vllm.knowledge import Knowledge
from specpreflight.engines.vllm.model_config import Model
from specpreflight.engines.vllm.options import Options
from specpreflight.engines.vllm.record import (
    Record,
    engine_value,
    flag_value,
    speculative_value,
)
from specpreflight.engines.vllm.speculation import Speculation
from specpreflight.models.finding import Outcome, Stage

_GIB_IN_MIB = 1024

#: Methods that asynchronous scheduling works with beside EAGLE and MTP, by release; the engine
#: lists them in its refusal.
_ASYNC_METHODS = (
    ("0.16.0", ("draft_model",), "EAGLE/MTP/Draft Model kind of speculative decoding."),
    ("0.18.0", ("draft_model", "ngram_gpu"),
     "EAGLE/MTP/Draft Model/NGram GPU kind of speculative decoding"),
    ("0.25.0", ("draft_model", "ngram_gpu", "dspark"),
     "EAGLE/MTP/Draft Model/NGram GPU/DSpark kind of speculative decoding"),
    ("0.31.0", ("draft_model", "ngram_gpu", "dspark", "dflash"),
     "EAGLE/MTP/Draft Model/NGram GPU/DSpark/DFlash kind of speculative decoding"),
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Budget:
    """The scheduler's limits: tokens and sequences of one batch, `None` where not known."""

    tokens: int | None
    sequences: int | None


def settle_budget(knowledge: Knowledge, options: Options, target: Model) -> Budget:
    """Return the limits of the scheduler: given, else by the GPU's memory."""
    tokens, sequences = options.max_num_batched_tokens, options.max_num_seqs
    defaults = _defaults(knowledge, options)
    doubled = 2 if options.performance_mode == "throughput" else 1
    if tokens is None and defaults is not None:
        tokens = defaults[0] * doubled
    if sequences is None and defaults is not None:
        sequences = defaults[1] * doubled
    length = target.max_model_len
    if options.max_num_batched_tokens is None and tokens is not None and length is not None:
        if options.enable_chunked_prefill is False:
            tokens = max(length, tokens)
        if sequences is not None:
            tokens = min(sequences * length, tokens)
    if options.max_num_seqs is None and sequences is not None and tokens is not None:
        sequences = min(sequences, tokens)
    return Budget(tokens, sequences)


def _defaults(knowledge: Knowledge, options: Options) -> tuple[int, int] | None:
    """Return the default tokens and sequences on this GPU, if it is known.

    Restates `EngineArgs.get_batch_defaults`, which gives `LLM(...)` more tokens than a server.
    """
    if options.memory_mib is None:
        return None
    if options.memory_mib >= 160 * _GIB_IN_MIB and knowledge.since("0.28.0"):
        return 16384, 1024
    if options.memory_mib >= 70 * _GIB_IN_MIB and "a100" not in (options.gpu or "").lower():
        return (16384 if options.in_process else 8192), 1024
    return (8192 if options.in_process else 2048), 256


def check_budget(
    record: Record,
    knowledge: Knowledge,
    options: Options,
    budget: Budget,
    target: Model,
    found: Speculation | None,
) -> None:
    """Restate the scheduler's own test and the one for LoRA."""
    tokens, sequences = budget.tokens, budget.sequences
    length = target.max_model_len
    if tokens is None or sequences is None:
        return
    values = (
        flag_value("max_num_batched_tokens", tokens, "--max-num-batched-tokens"),
        flag_value("max_num_seqs", sequences, "--max-num-seqs"),
    )
    if length is not None and tokens < length and options.enable_chunked_prefill is False:
        record.refuse(
            "arguments.budget-too-small",
            Stage.ARGUMENTS,
            f"a batch of {tokens} tokens cannot hold a sequence of {length} without chunking",
            text=(
                f"max_num_batched_tokens ({tokens}) is smaller than max_model_len ({length}). "
                "This effectively limits the maximum sequence length to max_num_batched_tokens "
                "and makes vLLM reject longer sequences."
            ),
            source="config/scheduler.py:verify_max_model_len",
            values=values,
        )
    if tokens < sequences:
        record.refuse(
            "arguments.budget-too-small",
            Stage.ARGUMENTS,
            f"`max_num_batched_tokens` {tokens} is less than `max_num_seqs` {sequences}",
            text=(
                f"max_num_batched_tokens ({tokens}) must be greater than or equal to max_num_seqs "
                f"({sequences})."
            ),
            source="config/scheduler.py:verify_max_model_len",
            values=values,
        )
    drafted = found.num_tokens if found is not None and knowledge.since("0.11.1") else None
    if options.enable_lora and isinstance(drafted, int) and tokens < sequences * (drafted + 1):
        record.refuse(
            "arguments.budget-too-small",
            Stage.ARGUMENTS,
            f"with LoRA a batch needs {sequences * (drafted + 1)} tokens, and has {tokens}",
            text="Consider increasing max_num_batched_tokens or decreasing num_speculative_tokens",
            exception="ValueError",
            source="engine/arg_utils.py:create_engine_config",
            values=(*values, speculative_value("num_speculative_tokens", drafted)),
        )


def check_async(
    record: Record, knowledge: Knowledge, options: Options, found: Speculation | None, runner: str
) -> None:
    """Restate the tests of asynchronous scheduling: a refusal where asked for, else a fallback."""
    if found is None or options.async_scheduling is False:
        return
    if options.async_scheduling is None and not knowledge.since("0.14.0"):
        return
    if knowledge.since("0.33.0"):
        reason = _v1_reason(knowledge, options, found) if runner == "V1" else None
        text = (
            None
            if reason is None
            else (f"Async scheduling is not supported by the V1 model runner with {reason}.")
        )
    else:
        text = _refusal(knowledge, options, found)
    if text is None:
        return
    if options.async_scheduling:
        record.refuse(
            "arguments.async-scheduling",
            Stage.ARGUMENTS,
            f"`--async-scheduling` does not go with this launch of method `{found.method}`",
            text=text,
            source="config/vllm.py:VllmConfig.__post_init__",
            values=(
                flag_value("async_scheduling", True, "--async-scheduling"),
                speculative_value("method", found.method),
            ),
        )
    else:
        record.add(
            "launch.async-scheduling-off",
            Outcome.ADJUSTS,
            Stage.ARGUMENTS,
            f"vLLM turns asynchronous scheduling off for method `{found.method}`",
            text=text,
            source="config/vllm.py:VllmConfig.__post_init__",
            values=(speculative_value("method", found.method),),
        )


def _refusal(knowledge: Knowledge, options: Options, found: Speculation) -> str | None:
    """Return what a release up to 0.32 says against asynchronous scheduling here."""
    if options.pipeline_parallel_size > 1 and not knowledge.since("0.15.0"):
        if knowledge.since("0.11.1"):
            return "Async scheduling is not yet compatible with pipeline_parallel_size > 1."
        return "Async scheduling is not supported with pipeline-parallel-size > 1."
    if not knowledge.since("0.11.1"):
        return "Currently, speculative decoding is not supported with async scheduling."
    others: tuple[str, ...] = ()
    words = "EAGLE/MTP kind of speculative decoding"
    for since, names, listed in _ASYNC_METHODS:
        if knowledge.since(since):
            others, words = names, listed
    if found.method not in (*knowledge.constant("eagle_methods"), *others):
        return f"Currently, async scheduling is only supported with {words}"
    if found.keys.get("disable_padded_drafter_batch") and not knowledge.since("0.14.0"):
        return (
            "async scheduling for EAGLE/MTP kind of speculative decoding is enabled, but "
            "disable_padded_drafter_batch=True disable_padded_drafter_batch=True is not supported "
            "for this situation now. please set disable_padded_drafter_batch=Fasle"
        )
    if found.keys.get("disable_padded_drafter_batch"):
        return "Async scheduling is not compatible with disable_padded_drafter_batch=True."
    return None


def _v1_reason(knowledge: Knowledge, options: Options, found: Speculation) -> str | None:
    known = (*knowledge.constant("eagle_methods"), "ngram_gpu", "draft_model", "dspark", "dflash")
    if found.method not in known:
        return f"{found.method}-based speculative decoding"
    if found.keys.get("disable_padded_drafter_batch"):
        return "disable_padded_drafter_batch=True"
    return "pipeline parallelism" if options.pipeline_parallel_size > 1 else None


def check_draft_slots(
    record: Record, knowledge: Knowledge, options: Options, budget: Budget, found: Speculation
) -> None:
    """Restate `_set_max_num_scheduled_tokens` (0.17.0 on): room for the draft's tokens."""
    tokens, sequences, drafted = budget.tokens, budget.sequences, found.num_tokens
    if not knowledge.since("0.17.0") or tokens is None or not isinstance(drafted, int):
        return
    if sequences is None:
        return
    slots = _new_slots(knowledge, found, drafted)
    scheduled = options.max_num_scheduled_tokens
    values = (
        flag_value("max_num_batched_tokens", tokens, "--max-num-batched-tokens"),
        flag_value("max_num_seqs", sequences, "--max-num-seqs"),
        speculative_value("num_speculative_tokens", drafted),
    )
    each = not knowledge.since("0.28.0")
    if scheduled is None:
        scheduled = tokens - slots * sequences if each else tokens
    if scheduled <= 0 and knowledge.since("0.20.0"):
        text = (
            f"max_num_scheduled_tokens is set to {scheduled} based on the speculative decoding "
            "settings, which does not allow any tokens to be scheduled."
        )
    elif each and tokens < scheduled + slots * sequences:
        text = (
            "VllmConfig received max_num_scheduled_tokens but it does not have enough slots to "
            "support the speculative decoding settings."
        )
    elif not each and tokens <= _needed(knowledge, found, drafted, slots):
        text = (
            "VllmConfig does not have enough slots to schedule a token and support the "
            "speculative decoding settings."
        )
    else:
        _warn_small(record, knowledge, scheduled, tokens, drafted)
        return
    record.refuse(
        "arguments.budget-too-small",
        Stage.ARGUMENTS,
        f"a batch of {tokens} tokens has no room for {drafted} drafted tokens per sequence",
        text=text,
        source="config/vllm.py:_set_max_num_scheduled_tokens",
        values=values,
    )


def _new_slots(knowledge: Knowledge, found: Speculation, drafted: int) -> int:
    """Restate `max_num_new_slots_for_drafting`."""
    independent = found.method == "draft_model"
    if knowledge.since("0.28.0"):
        own = ("dflash", "dspark") if knowledge.since("0.33.0") else ("dflash",)
        if found.method in own:
            return 0 if knowledge.since("0.33.0") else drafted
        if found.parallel:
            return drafted if independent else drafted - 1
        return 1 if independent else 0
    return (drafted - 1 if found.parallel else 0) + (1 if independent else 0)


def _needed(knowledge: Knowledge, found: Speculation, drafted: int, slots: int) -> int:
    """Return what a batch must exceed: the new slots, from 0.33.0 the tokens looked ahead."""
    if not knowledge.since("0.33.0"):
        return slots
    fills = (
        found.method == "dspark"
        and found.draft is not None
        and (found.draft.config.get("sample_from_anchor", True) is False)
    )
    if found.method == "dflash" or fills:
        return drafted + 1
    ahead = ("eagle", "eagle3", "mtp", "dflash", "dspark", "draft_model")
    return drafted if found.method in ahead else 0


def _warn_small(
    record: Record, knowledge: Knowledge, scheduled: int, tokens: int, drafted: int
) -> None:
    if scheduled >= 8192 or not knowledge.since("0.20.0"):
        return
    record.add(
        "launch.scheduled-tokens-low",
        Outcome.ADJUSTS,
        Stage.ARGUMENTS,
        f"vLLM schedules at most {scheduled} tokens a step beside the drafts",
        text=(
            f"max_num_scheduled_tokens is set to {scheduled} based on the speculative decoding "
            "settings. This may lead to suboptimal performance."
        ),
        source="config/vllm.py:_set_max_num_scheduled_tokens",
        values=(
            engine_value("max_num_batched_tokens", tokens, "SchedulerConfig"),
            speculative_value("num_speculative_tokens", drafted),
        ),
    )
