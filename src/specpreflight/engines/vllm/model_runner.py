"""Which of vLLM's two GPU model runners a launch gets, and what each refuses.

Restates vLLM `config/vllm.py`: `use_v2_model_runner`, `_is_default_v2_model_runner_model`,
`_get_v2_model_runner_unsupported_features`, `_get_v1_model_runner_unsupported_features` and the
two `_validate_…`. Before 0.22.0 only `VLLM_USE_V2_MODEL_RUNNER` chose the V2 runner.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from specpreflight.engines.vllm.knowledge import Knowledge
from specpreflight.engines.vllm.model_config import Model
from specpreflight.engines.vllm.options import Options
from specpreflight.engines.vllm.record import Record, speculative_value
from specpreflight.engines.vllm.speculation import Speculation
from specpreflight.models.finding import Origin, Outcome, Stage, Value

_SOURCE = "config/vllm.py:use_v2_model_runner"
_VARIABLE = "VLLM_USE_V2_MODEL_RUNNER"

#: Speculative methods of the V2 runner while it had a list of them, by the release that added.
_V2_METHODS = (
    ("0.20.0", ("eagle", "eagle3", "mtp")),
    ("0.24.0", ("dflash",)),
    ("0.25.0", ("dspark",)),
    ("0.29.0", ("extract_hidden_states",)),
)

#: From 0.30.0 the list names what it lacks.
_V2_LACKS = (
    ("0.30.0", ("ngram", "ngram_gpu", "draft_model", "suffix", "medusa", "mlp_speculator",
                "custom_class")),
    ("0.31.0", ("ngram", "ngram_gpu", "suffix", "medusa", "mlp_speculator", "custom_class")),
    ("0.32.0", ("suffix", "medusa", "mlp_speculator", "custom_class")),
    ("0.33.0", ("suffix", "custom_class")),
)  # fmt: skip

_CANDIDATE_HEADS = frozenset({"DFlash2DraftModel", "DFlash2BeamDraftModel", "LiLiCorrDraftModel"})
_EXPERT_KEYS = ("num_experts", "moe_num_experts", "n_routed_experts", "num_local_experts")


def choose_runner(
    record: Record,
    knowledge: Knowledge,
    options: Options,
    target: Model,
    found: Speculation | None,
) -> str:
    """Return `V1` or `V2`; a fallback goes into `record` as a note."""
    forced = options.force_runner
    if forced is not None and knowledge.since("0.12.0"):
        runner = "V2" if forced else "V1"
        record.resolve("model_runner", runner, f"{_VARIABLE} is set")
        return runner
    if not knowledge.since("0.22.0"):
        record.resolve("model_runner", "V1", "the only one of this release without the variable")
        return "V1"
    if not knowledge.since("0.29.0"):
        wanted, why = _wanted_by_launch(knowledge, target, found)
        if not wanted:
            record.resolve("model_runner", "V1", why)
            return "V1"
        if why.startswith("the method") or why.startswith("the draft"):
            record.resolve("model_runner", "V2", why)
            return "V2"
    lacking = list(v2_lacks(knowledge, options, target, found))
    if lacking:
        record.resolve("model_runner", "V1", f"V2 lacks {lacking[0]}")
        record.add(
            "launch.model-runner-fallback",
            Outcome.ADJUSTS,
            Stage.ARGUMENTS,
            f"vLLM falls back to model runner V1: V2 lacks {lacking[0]}"[:100],
            text=(
                f"Model Runner V2 does not yet support {', '.join(lacking)}; using the V1 model "
                "runner instead."
            ),
            source=_SOURCE,
            values=(speculative_value("method", None if found is None else found.method),),
            facts={"lacking": lacking},
        )
        return "V1"
    record.resolve("model_runner", "V2", "the default of this release for this launch")
    return "V2"


def validate_runner(
    record: Record,
    knowledge: Knowledge,
    options: Options,
    target: Model,
    found: Speculation | None,
    runner: str,
) -> None:
    """Restate `_validate_v2_model_runner` and `_validate_v1_model_runner`."""
    if runner == "V2" and knowledge.since("0.20.0"):
        lacking = list(v2_lacks(knowledge, options, target, found))
        name = "Model Runner V2" if knowledge.since("0.23.0") else _VARIABLE
        text = f"{name} does not yet support: {', '.join(lacking)}"
    elif runner == "V1" and knowledge.since("0.29.0"):
        lacking = list(v1_lacks(knowledge, options, target, found))
        text = f"Model Runner V1 does not support: {', '.join(lacking)}"
    else:
        return
    if lacking:
        record.refuse(
            "launch.model-runner-unsupported",
            Stage.ARGUMENTS,
            f"model runner {runner} does not support {lacking[0]}"[:100],
            text=text,
            source=f"config/vllm.py:_validate_{runner.lower()}_model_runner",
            values=_choice(options, found),
            facts={"lacking": lacking, "runner": runner},
        )


def _choice(options: Options, found: Speculation | None) -> tuple[Value, ...]:
    method = speculative_value("method", None if found is None else found.method)
    if options.force_runner is None:
        return (method,)
    given = Value(_VARIABLE, int(options.force_runner), Origin("environment", name=_VARIABLE))
    return (given, method)


def _wanted_by_launch(
    knowledge: Knowledge, target: Model, found: Speculation | None
) -> tuple[bool, str]:
    """Tell whether a release from 0.22 to 0.28 starts from V2, and why."""
    if found is not None and found.method == "dspark" and knowledge.since("0.25.0"):
        return True, "the method is dspark"
    if found is not None and _mixes_windows(found) and knowledge.since("0.26.0"):
        return True, "the draft mixes sliding and full attention"
    if found is not None and _has_candidate_head(found) and knowledge.since("0.28.0"):
        return True, "the draft has a candidate head"
    listed = any(
        name in knowledge.constant("v2_runner_architectures") for name in target.architectures
    )
    name = target.architectures[0] if target.architectures else "the target"
    moe = is_moe(target)
    if not knowledge.since("0.24.0"):
        plain = listed and not moe and target.quantization is None
        return plain, f"`{name}` is {'' if plain else 'not '}on the release's list for V2"
    if not knowledge.since("0.25.0"):
        return listed, f"`{name}` is {'' if listed else 'not '}on the release's list for V2"
    interfaces = _interfaces(knowledge, target)
    if "hybrid" in interfaces and not (listed and knowledge.since("0.27.0")):
        return False, f"`{name}` is a hybrid model"
    if "attention_free" in interfaces:
        return False, f"`{name}` has no attention"
    if listed or not moe:
        return True, f"`{name}` is on the list for V2" if listed else f"`{name}` has no experts"
    return False, f"`{name}` has experts and is not on the list for V2"


def is_moe(model: Model) -> bool:
    """Restate `ModelConfig.is_moe`: the language part has experts."""
    for key in _EXPERT_KEYS:
        count: Any = model.text.get(key)
        if isinstance(count, list):
            count = count[0] if count else 0
        if count is not None:
            return bool(count)
    return False


def _interfaces(knowledge: Knowledge, model: Model) -> frozenset[str]:
    for name in model.architectures:
        if name in knowledge.architectures:
            return knowledge.architectures[name].interfaces
    return frozenset()


def v2_lacks(
    knowledge: Knowledge, options: Options, target: Model, found: Speculation | None
) -> Iterator[str]:
    """Yield what the V2 runner of this release lacks for this launch, in the engine's words."""
    if found is not None:
        yield from _v2_speculation(knowledge, options, found)
    early = not knowledge.since("0.30.0")
    if options.enable_dbo and (early or options.force_runner is None):
        yield "dual batch overlap"
    elif options.enable_dbo and found is not None:
        yield "dual batch overlap with speculative decoding"
    if options.enable_elastic_ep and knowledge.since("0.24.0") and not knowledge.since("0.32.0"):
        yield "elastic expert parallelism"
    if options.logits_processors and not knowledge.since("0.31.0"):
        yield "custom logits processors"
    if options.kv_sharing_fast_prefill and early:
        yield "KV sharing fast prefill"
    inner = "inner_state" in _interfaces(knowledge, target)
    if inner and not knowledge.since("0.23.0"):
        yield "hybrid/mamba models"


def _v2_speculation(knowledge: Knowledge, options: Options, found: Speculation) -> Iterator[str]:
    method, pipeline = found.method, options.pipeline_parallel_size
    launcher = options.distributed_executor_backend == "external_launcher"
    if launcher and pipeline > 1 and knowledge.since("0.24.0"):
        yield "pipeline parallelism with external_launcher"
    if knowledge.since("0.30.0"):
        lacks: tuple[str, ...] = ()
        for since, names in _V2_LACKS:
            lacks = names if knowledge.since(since) else lacks
        if method in lacks:
            yield f"speculative method '{method}'"
    else:
        known = [name for since, names in _V2_METHODS if knowledge.since(since) for name in names]
        if method in ("ngram", "ngram_gpu") and knowledge.since("0.22.0"):
            yield "ngram/ngram_gpu speculative decoding"
        elif method not in known:
            yield f"speculative method '{method}'"
    own: tuple[str, ...] = ()
    if knowledge.since("0.24.0"):
        own = ("dflash", "dspark") if knowledge.since("0.25.0") else ("dflash",)
    if found.parallel and method not in own and knowledge.since("0.22.0"):
        yield "parallel drafting for EAGLE speculative decoding"
    listed = knowledge.since("0.22.0") and not knowledge.since("0.30.0")
    if listed and method == "eagle3" and pipeline > 1:
        yield "EAGLE3 with pipeline parallelism"
    if found.keys.get("use_heterogeneous_vocab") and knowledge.since("0.32.0"):
        yield "heterogeneous-vocabulary draft models"


def v1_lacks(
    knowledge: Knowledge, options: Options, target: Model, found: Speculation | None
) -> Iterator[str]:
    """Yield what the V1 runner lacks for this launch (from 0.29.0)."""
    overlap = options.pipeline_parallel_size > 1 and options.async_scheduling
    if overlap and knowledge.since("0.31.0"):
        yield "pipeline parallelism with async scheduling"
    if found is None:
        return
    if found.method == "dspark":
        yield "dspark speculative decoding"
    if found.keys.get("enable_adaptive_verification"):
        yield "adaptive draft verification"
    if found.keys.get("draft_lm_head_quantization") is not None:
        yield "draft lm_head quantization"
    if _mixes_windows(found):
        yield "mixed sliding/full dflash drafts"
    if _has_candidate_head(found):
        newer = knowledge.since("0.31.0")
        yield "DFlash candidate-head drafts" if newer else "dflash2 drafts"
    steps = ("Step5ForCausalLM", "Step5ForConditionalGeneration")
    if knowledge.since("0.33.0") and any(name in steps for name in target.architectures):
        yield "Step5"


def _mixes_windows(found: Speculation) -> bool:
    """Restate `_dflash_needs_multi_kv_group`."""
    if found.method != "dflash" or found.draft is None:
        return False
    kinds: list[str] = found.draft.config.get("layer_types") or []
    sliding = sum(kind == "sliding_attention" for kind in kinds)
    return 0 < sliding < len(kinds)


def _has_candidate_head(found: Speculation) -> bool:
    if found.method != "dflash" or found.draft is None:
        return False
    return bool(_CANDIDATE_HEADS & set(found.draft.architectures))
