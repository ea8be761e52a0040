"""Restates vLLM's `EngineArgs.create_engine_config`: one launch from arguments to `VllmConfig`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from specpreflight.engines.vllm import draft_length, method_rules, scheduling
from specpreflight.engines.vllm.argument_bounds import (
    check_backend_name,
    check_bounds,
    check_cache_dtype,
    check_parallel_arguments,
    check_runner_variable,
)
from specpreflight.engines.vllm.arguments import parse
from specpreflight.engines.vllm.eagle3_loader import loader_for
from specpreflight.engines.vllm.free_keys import check_generation_keys, check_loader_keys
from specpreflight.engines.vllm.hf_reading import ConfigReading
from specpreflight.engines.vllm.json_keys import check_json_keys
from specpreflight.engines.vllm.knowledge import Knowledge
from specpreflight.engines.vllm.model_config import Model, Wanted, build_model
from specpreflight.engines.vllm.model_runner import choose_runner, validate_runner
from specpreflight.engines.vllm.options import Options, read_options
from specpreflight.engines.vllm.quantization_class import check_class
from specpreflight.engines.vllm.record import Record, flag_value, speculative_value
from specpreflight.engines.vllm.runtime import foresee
from specpreflight.engines.vllm.speculation import Speculation
from specpreflight.engines.vllm.speculative_config import build_speculation
from specpreflight.engines.vllm.speculators_target import follow_verifier, is_speculators
from specpreflight.models.argument_parser import Arguments, Problem
from specpreflight.models.finding import Stage
from specpreflight.models.launch import Launch
from specpreflight.models.resolved import Resolved

_SOURCE = "engine/arg_utils.py:create_engine_config"

#: All-to-all backends that microbatching works with.
_MICROBATCH_BACKENDS = ("deepep_low_latency", "deepep_high_throughput", "nixl_ep")


def predict(launch: Launch, knowledge: Knowledge) -> Resolved:
    """Return what this release does with a launch, from its arguments to its runner."""
    record = Record()
    parsed = parse(launch.argv, knowledge)
    for problem in parsed.problems:
        _refuse_argument(record, problem, knowledge)
    options = read_options(parsed.values, launch)
    if not options.in_process:
        check_json_keys(record, knowledge, parsed)
    check_generation_keys(record, knowledge, parsed)
    _check_overrides(record, parsed)
    reading = _reading(knowledge, launch, options)
    target = _build_target(record, knowledge, launch, options, reading)
    found = None
    if target is not None:
        found = _build_rest(record, knowledge, launch, options, parsed.values, reading, target)
    check_loader_keys(record, knowledge, parsed)
    loader = None
    if target is not None and found is not None and found.draft is not None and found.has_draft:
        loader = loader_for(knowledge, found.draft, target)
    return Resolved(
        values=record.values,
        events=tuple(record.events),
        unknown=tuple(record.unknown),
        facts={} if loader is None else {"loader": loader},
    )


def _check_overrides(record: Record, parsed: Arguments) -> None:
    """Refuse `--hf-overrides` that is no object: the target's `ModelConfig` takes nothing else."""
    given = any(one.option.dest == "hf_overrides" for one in parsed.given)
    value = parsed.values.get("hf_overrides")
    if given and not isinstance(value, Mapping):
        record.refuse(
            "arguments.overrides-not-an-object",
            Stage.TARGET_CONFIG,
            "`--hf-overrides` must be a JSON object",
            text="Input should be a valid dictionary",
            source="config/model.py:ModelConfig",
            values=(flag_value("hf_overrides", value, "--hf-overrides"),),
        )


def _refuse_argument(record: Record, problem: Problem, knowledge: Knowledge) -> None:
    text = problem.message
    shown = problem.words[0] if problem.words else ""
    name = problem.option.name if problem.option is not None else shown
    messages = {
        "unrecognized": f"vLLM {knowledge.version} does not know the argument `{shown}`",
        "ambiguous": f"`{shown}` could be several arguments",
    }
    record.refuse(
        "arguments.parse",
        Stage.ARGUMENTS,
        messages.get(problem.kind, f"`{name}` cannot take the value `{shown}`")[:100],
        text=f"error: {text}",
        exception="SystemExit",
        source="utils/argparse_utils.py:FlexibleArgumentParser",
        values=(flag_value(name, list(problem.words), name),),
        facts={"kind": problem.kind, "words": problem.words, "known": tuple(knowledge.flags)},
    )


def _reading(knowledge: Knowledge, launch: Launch, options: Options) -> ConfigReading:
    """Return the reader of the launch's configs, which knows a draft by every path given for it."""
    keys = options.speculative if isinstance(options.speculative, dict) else {}
    named = ((options.spec_flags or {}).get("model"), keys.get("model"), launch.draft_path)
    checkpoints = {
        str(path).rstrip("/"): launch.draft
        for path in named
        if path is not None and launch.draft is not None
    }
    if launch.target is not None:
        checkpoints[(launch.target_path or launch.target.given).rstrip("/")] = launch.target
    variables = {
        name: variable.value
        for name, variable in launch.environment.items()
        if variable.value is not None
    }
    return ConfigReading(knowledge, variables, checkpoints, offline=options.offline)


def _build_target(
    record: Record,
    knowledge: Knowledge,
    launch: Launch,
    options: Options,
    reading: ConfigReading,
) -> Model | None:
    checkpoint = launch.target
    if checkpoint is None:
        record.unknown.append(("target", "the launch names no target"))
        return None
    if is_speculators(checkpoint):
        follow_verifier(record, knowledge, reading, checkpoint, offline=options.offline)
        return None
    if knowledge.since("0.13.0") and not _check_length_flag(
        record, knowledge, options, "config/model.py:ModelConfig"
    ):
        return None
    wanted = Wanted(
        max_model_len=options.max_model_len,
        quantization=None if options.quantization is None else options.quantization.lower(),
        hf_overrides=options.hf_overrides,
        allow_longer=options.allow_longer,
        allow_deprecated=options.allow_deprecated_quantization,
        trust_remote_code=options.trust_remote_code,
        disable_sliding_window=options.disable_sliding_window,
    )
    path = launch.target_path or checkpoint.given
    target = build_model(record, knowledge, reading, checkpoint, path, wanted)
    if target is not None and target.max_model_len is not None:
        reason = target.length.reason if target.length is not None else ""
        record.resolve("context_length", target.max_model_len, reason)
    return target


def _check_length_flag(record: Record, knowledge: Knowledge, options: Options, source: str) -> bool:
    """Restate the bound of `--max-model-len`: the scheduler's, from 0.13 on the model's."""
    asked = options.max_model_len
    lowest = -1 if knowledge.since("0.14.0") else 1
    if asked is None or asked >= lowest or not knowledge.since("0.11.1"):
        return True
    early = source.startswith("config/scheduler.py")
    limit = "than or equal to 1" if early else "than 0" if lowest == 1 else "than or equal to -1"
    record.refuse(
        "arguments.length-invalid",
        Stage.ARGUMENTS if early else Stage.TARGET_CONFIG,
        f"`--max-model-len` is {asked}; vLLM {knowledge.version} takes {lowest} or more",
        text=f"Input should be greater {limit}",
        source=source,
        values=(flag_value("max_model_len", asked, "--max-model-len"),),
    )
    return False


def _build_rest(
    record: Record,
    knowledge: Knowledge,
    launch: Launch,
    options: Options,
    parsed: Mapping[str, Any],
    reading: ConfigReading,
    target: Model,
) -> Speculation | None:
    """Restate what follows the target's config; return what became of the speculative config."""
    given = _speculative_json(record, knowledge, options)
    found: Speculation | None = None
    if given is not None:
        if not _check_draft_model_support(record, knowledge, given):
            return None
        if not knowledge.since("0.11.1"):
            _check_early_async(record, options)
        found = build_speculation(record, knowledge, reading, given, options, target, launch.draft)
    budget = scheduling.settle_budget(knowledge, options, target)
    if not knowledge.since("0.13.0"):
        _check_length_flag(record, knowledge, options, "config/scheduler.py:SchedulerConfig")
    check_bounds(record, knowledge, parsed)
    scheduling.check_budget(record, knowledge, options, budget, target, found)
    _check_target(record, knowledge, options, target)
    check_parallel_arguments(record, knowledge, options, target)
    check_backend_name(record, knowledge, parsed)
    check_class(record, knowledge, options, target)
    check_cache_dtype(record, knowledge, options, target)
    check_runner_variable(record, knowledge, options)
    runner = choose_runner(record, knowledge, options, target, found)
    if found is not None:
        draft = found.draft
        draft_length.limit_target(record, knowledge, runner, found.method, draft, target)
        if target.max_model_len is not None:
            _settle_target_length(record, target)
    if knowledge.since("0.11.1"):
        scheduling.check_async(record, knowledge, options, found, runner)
    if found is not None:
        scheduling.check_draft_slots(record, knowledge, options, budget, found)
        _check_fast_prefill(record, options, found)
    validate_runner(record, knowledge, options, target, found, runner)
    _check_microbatching(record, knowledge, options)
    if found is not None:
        foresee(record, knowledge, options, target, found, runner)
    return found


def _settle_target_length(record: Record, target: Model) -> None:
    known = record.values.get("context_length")
    if known is not None and known.value != target.max_model_len:
        record.resolve("context_length", target.max_model_len, "the draft reaches no further")


def _speculative_json(
    record: Record, knowledge: Knowledge, options: Options
) -> Mapping[str, Any] | None:
    """Return the object that `SpeculativeConfig` is made of, `None` without speculation."""
    given = options.speculative
    short = dict(options.spec_flags or {}) if knowledge.since("0.22.0") else {}
    if given is None and not short:
        return None
    if given is not None and not isinstance(given, dict):
        kind = type(given).__name__
        read = ("0.26.0", "items"), ("0.15.0", "update"), ("0.11.0", "method"), ("0", "get")
        method = next(name for since, name in read if knowledge.since(since))
        record.refuse(
            "arguments.speculative-not-an-object",
            Stage.ARGUMENTS,
            f"`--speculative-config` is a JSON {kind}; it must be an object",
            text=f"'{kind}' object has no attribute '{method}'",
            exception="AttributeError",
            source="engine/arg_utils.py:create_speculative_config",
            values=(flag_value("speculative config", given, "--speculative-config"),),
        )
        return None
    keys = dict(given or {})
    for key, value in short.items():
        if key in keys:
            flag = {"num_speculative_tokens": "--spec-tokens"}.get(key, f"--spec-{key}")
            record.refuse(
                "arguments.given-twice",
                Stage.ARGUMENTS,
                f"`{flag}` and the key `{key}` of the speculative config exclude each other",
                text=f"{flag} and --speculative-config['{key}'] are mutually exclusive",
                exception="ValueError",
                source="engine/arg_utils.py:create_speculative_config",
                values=(flag_value(key, value, flag), speculative_value(key, keys[key])),
            )
        keys[key] = value
    return keys


def _check_draft_model_support(
    record: Record, knowledge: Knowledge, given: Mapping[str, Any]
) -> bool:
    """Restate the refusal of method `draft_model` up to 0.14 (`_check_feature_supported`)."""
    if knowledge.since("0.15.0") or given.get("method") != "draft_model":
        return True
    newer = knowledge.since("0.11.0")
    first = "Draft model speculative decoding" if newer else "Speculative decoding with draft model"
    last = "mtp" if newer else "deepseek_mtp"
    record.refuse(
        "architecture.method-unsupported",
        Stage.ARGUMENTS,
        f"method `draft_model` is not supported by vLLM {knowledge.version}",
        text=(
            f"{first} is not supported yet. Please consider using other speculative decoding "
            f"methods such as ngram, medusa, eagle, or {last}."
        ),
        exception="NotImplementedError",
        source="engine/arg_utils.py:_check_feature_supported",
        values=(speculative_value("method", "draft_model"),),
        facts={"method": "draft_model"},
    )
    return False


def _check_early_async(record: Record, options: Options) -> None:
    """Restate the tests of 0.10 and 0.11.0, which stand before the speculative config."""
    if not options.async_scheduling:
        return
    text = "Currently, speculative decoding is not supported with async scheduling."
    if options.pipeline_parallel_size > 1:
        text = "Async scheduling is not supported with pipeline-parallel-size > 1."
    record.refuse(
        "arguments.async-scheduling",
        Stage.ARGUMENTS,
        "`--async-scheduling` does not go with this launch",
        text=text,
        exception="ValueError",
        source=_SOURCE,
        values=(flag_value("async_scheduling", True, "--async-scheduling"),),
    )


def _check_target(record: Record, knowledge: Knowledge, options: Options, target: Model) -> None:
    """Restate `verify_with_parallel_config` for the target, which comes after the draft's."""
    alone = Speculation.of_target(target)
    method_rules.check_parallel(record, knowledge, alone, options, target)


def _check_fast_prefill(record: Record, options: Options, found: Speculation) -> None:
    eagle = found.method in ("eagle", "eagle3", "mtp", "dflash", "dspark", "deepseek_mtp")
    if options.kv_sharing_fast_prefill and eagle:
        record.refuse(
            "arguments.fast-prefill",
            Stage.ARGUMENTS,
            f"`--kv-sharing-fast-prefill` does not go with method `{found.method}`",
            text=(
                "Fast prefill optimization for KV sharing is not compatible with EAGLE as EAGLE "
                "requires correct logits for all tokens while fast prefill gives incorrect logits "
                "for prompt tokens."
            ),
            source="config/vllm.py:VllmConfig.__post_init__",
            values=(flag_value("kv_sharing_fast_prefill", True, "--kv-sharing-fast-prefill"),),
        )


def _check_microbatching(record: Record, knowledge: Knowledge, options: Options) -> None:
    """Restate the test of dual batch overlap, whose back ends a default install lacks."""
    backend = options.all2all_backend or "allgather_reducescatter"
    newer = knowledge.since("0.24.0")
    able = _MICROBATCH_BACKENDS[: 3 if newer else 2]
    if not options.enable_dbo or backend in able:
        return
    names = (
        f"{', '.join(able)} all2all backends" if newer else f"{' and '.join(able)} all2all backend"
    )
    record.refuse(
        "arguments.microbatching",
        Stage.ARGUMENTS,
        f"`--enable-dbo` does not work with the all-to-all back end `{backend}`",
        text=(f"Microbatching currently only supports the {names}. {backend} is not supported."),
        source="config/vllm.py:VllmConfig.__post_init__",
        values=(
            flag_value("enable_dbo", True, "--enable-dbo"),
            flag_value("all2all_backend", backend, "--all2all-backend"),
        ),
    )
