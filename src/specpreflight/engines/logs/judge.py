"""What became of a launch: its stage, its cause, and what the cause's message says.

Of many tracebacks the cause is the earliest of the innermost process: vLLM's workers before the
engine core before the API server, SGLang's schedulers before the main process. Of a chain it is the
first block, except where the second only words it better (an unknown model type).
"""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any, Final

from specpreflight.engines.logs.acceptance import mean, silent_fault
from specpreflight.engines.logs.causes import CAUSES, NOISE, Cause
from specpreflight.engines.logs.launch_log import LaunchLog, Mark
from specpreflight.engines.logs.lines import seconds_between
from specpreflight.engines.logs.tracebacks import Trace
from specpreflight.engines.logs.versions import releases_of_fields, releases_of_texts
from specpreflight.models.diagnosis import Diagnosis, LoggedLaunch, ReleaseRange

_DRAFT_FRAMES: Final = re.compile(
    r"speculative/\w*worker\w*\.py:(?:__init__|init_\w+)|eagle_draft\w*|v1/spec_decode/|gpu/spec_decode/|"
    r"_resolve_speculative_algorithm_alias|create_speculative_config|config/speculative\.py"
)
#: The last frames that name a step → target's stage and draft's.
_STAGE_FRAMES: Final = (
    (r"run_batch|event_loop|execute_model|forward_batch_generation", "RUN", "RUN"),
    (r"graph_runner\.py|init_device_graphs|init_cuda_graphs", "TGR", "DGR"),
    (r"init_memory_pool|kv_cache_configurator|initialize_kv_caches|kv_cache_utils", "TKV", "DKV"),
    (r"attention_registry|_get_attention_backend|DraftBackendFactory", "TKV", "DKV"),
    (r":load_model|:load_weights|:get_model\b|_initialize_model", "TW", "DW"),
    (r"init_torch_distributed|initialize_model_parallel|pynccl", "DIST", "DIST"),
    (r"prepare_server_args|server_args\.py", "ARG", "ARG"),
    (r"create_engine_config", "CFG", "CFG"),
    (r"model_config\.py", "CFG", "DCFG"),
)
_SECRET_FLAG: Final = re.compile(r"(--[\w-]*(?:keys?|token|secret|password)[ =])\S+")
_PREFERRED: Final = frozenset({"L-CFG-MODELTYPE", "L-MEM-GRAPH"})
_DRAFT_ARGUMENTS: Final = {
    "num_steps": "speculative_num_steps",
    "topk": "speculative_eagle_topk",
    "num_draft_tokens": "speculative_num_draft_tokens",
    "algorithm": "speculative_algorithm",
    "mem_fraction_static": "mem_fraction_static",
    "tp": "tp_size",
}


def judge(launches: Sequence[LaunchLog]) -> Diagnosis:
    """Return what became of the last launch, with those before it."""
    told = [launch for launch in launches if launch.engine] or [launches[-1]]
    *earlier, last = [_judge_one(launch) for launch in told]
    return _with_earlier(last, tuple(earlier))


def _with_earlier(last: Diagnosis, earlier: tuple[Diagnosis, ...]) -> Diagnosis:
    version = last.version
    same = [before.version for before in earlier if before.engine == last.engine]
    if version.high is None and same:
        version = same[-1]
    return replace(last, earlier=earlier, version=version)


def _judge_one(launch: LaunchLog) -> Diagnosis:
    death = _find_death(launch)
    length, rate = mean(launch.samples)
    values = _values_of_launch(launch)
    version = _version_of(launch)
    cause = rule = message = None
    seconds = None
    stage = launch.step
    healthy: bool | None = True if launch.ready else None
    if death is not None:
        found, where, message, captured = death
        cause = found.name if found else "L-UNKNOWN"
        rule = found.rule if found else None
        values.update(captured)
        stage = _stage_of(found, where, launch)
        healthy = False
        seconds = _seconds_to(where, launch)
        rule = _refined_rule(cause, rule, values)
    elif launch.step == "DIST" and _hangs(launch):
        cause, healthy = "L-NCCL-HANG", False
    if missing := sorted(launch.started_ranks - launch.completed_ranks):
        values["ranks_without_init_complete"] = missing
        if len(missing) == 1:
            values["rank_without_init_complete"] = missing[0]
    nothing = 0.0 if launch.engine == "vllm" and (version.high or "").startswith("0.8.") else 1.0
    fault = silent_fault(length, len(launch.samples), nothing)
    eagle3_draft = "eagle3" in str(values.get("draft_class")).lower()
    if healthy and fault and eagle3_draft and values.get("algorithm") == "EAGLE":
        rule = "algorithm-draft-mismatch"
    return Diagnosis(
        engine=launch.engine,
        version=version,
        healthy=healthy,
        stage=stage,
        cause=cause,
        rule=rule,
        message=message,
        values=values,
        seconds_to_death=seconds,
        acceptance_length=length,
        acceptance_rate=rate,
        silent_fault=fault,
        lengths=tuple(sample[0] for sample in launch.samples),
        warnings=launch.warnings,
        launch=_launch_of(launch),
        first_line=launch.first_line,
        last_line=launch.last_line,
    )


_Death = tuple[Cause | None, Trace | Mark, str, dict[str, Any]]


def _find_death(launch: LaunchLog) -> _Death | None:
    traces = [trace for trace in launch.tracebacks.traces if _is_death(trace, launch)]
    traces.sort(key=lambda trace: _priority(trace, launch))
    unknown: _Death | None = None
    for trace in traces:
        group = _same_error(trace, launch)
        chain = "\n".join(other.chain for other in group)
        finals = [final for final in trace.finals if not NOISE.search(final)]
        named = [(cause, final) for final in finals if (cause := _identify(final, chain, launch))]
        if named:
            cause, final = _choose(named)
            captured = _captures(cause, final)
            processes = {other.process for other in group if other.process}
            captured["ranks"] = max(len(processes), 1)
            captured["which"] = "draft" if _DRAFT_FRAMES.search(chain) else "target"
            captured["where"] = captured["which"]
            return cause, replace(_earliest(trace, traces), frames=[chain]), _shown(final), captured
        if finals and unknown is None:
            unknown = (None, _earliest(trace, traces), _shown(finals[0]), {})
    for mark in sorted(launch.marks, key=lambda mark: mark.cause == "L-UNKNOWN"):
        if mark.served_before + 3 <= launch.served or launch.ready_line > mark.number:
            continue
        if mark.cause == "L-UNKNOWN":
            return unknown or (None, mark, _shown(mark.text), {})
        if death := _death_of_mark(mark, launch):
            return death
    return unknown


def _death_of_mark(mark: Mark, launch: LaunchLog) -> _Death | None:
    if mark.cause in {"ARGPARSE", "PROMPT"}:
        cause = _identify(mark.text, "", launch)
        return (cause, mark, _shown(mark.text), _captures(cause, mark.text)) if cause else None
    values = dict(mark.values)
    if mark.cause == "L-DIST-TIMEOUT":
        values["ranks_timed_out"] = len(launch.timed_out_ranks)
    stage = {"L-RUN-WATCHDOG": "RUN"}.get(mark.cause, "")
    return Cause(mark.cause, re.compile(""), stage), mark, mark.text[:400], values


def _is_death(trace: Trace, launch: LaunchLog) -> bool:
    if trace.ignored or not trace.finals or launch.ready_line > trace.number:
        return False
    if launch.ready and trace.served_before + 3 <= launch.served:
        return False
    served = launch.ready and (launch.engine == "vllm" or trace.number > launch.ready_line)
    inner = trace.process.startswith(("Worker", "VllmWorker", "EngineCore"))
    return trace.fatal or inner or not served


def _priority(trace: Trace, launch: LaunchLog) -> int:
    if launch.engine == "vllm":
        order = ("Worker", "VllmWorker", "EngineCore")
        if trace.process.startswith(order[:2]):
            return 0
        return 1 if trace.process.startswith(order[2]) else 2
    return 0 if trace.fatal else 1


def _same_error(trace: Trace, launch: LaunchLog) -> list[Trace]:
    """Return the tracebacks of all ranks that ended alike.

    Where ranks wrote through each other, one has the end of another, and another has none.
    """
    ends = {final.partition("\n")[0] for final in trace.finals}
    return [
        other
        for other in launch.tracebacks.traces
        if other is trace
        or any(final.partition("\n")[0] in ends for final in other.finals)
        or (other.fatal and trace.fatal and not other.finals)
    ]


def _earliest(trace: Trace, traces: Sequence[Trace]) -> Trace:
    return min(traces, key=lambda other: other.number, default=trace)


def _identify(final: str, chain: str, launch: LaunchLog) -> Cause | None:
    evidence = f"{chain}\n{launch.assertion or ''}"
    for cause in CAUSES:
        if cause.engine not in (None, launch.engine) or not cause.message.search(final):
            continue
        if cause.frames is None or cause.frames.search(evidence):
            return cause
    return None


def _choose(named: Sequence[tuple[Cause, str]]) -> tuple[Cause, str]:
    """Choose of a chain: the first block, unless a later one says the same better."""
    first = named[0]
    for cause, final in named[1:]:
        if cause.name == "L-MEM-GRAPH" and first[0].name != "L-MEM-OOM":
            continue
        if cause.name in _PREFERRED:
            return cause, final
    return first


def _captures(cause: Cause, final: str) -> dict[str, Any]:
    match = cause.message.search(_SECRET_FLAG.sub(r"\1***", final))
    found = match.groupdict() if match else {}
    values = {name.rstrip("_"): _typed(text) for name, text in found.items() if text is not None}
    if cause.name == "L-ARG-NONE" and cause.engine == "sglang":
        values["missing_flag"] = "--speculative-eagle-topk"
    elif cause.name == "L-ARG-BARE":
        values["missing_flag"] = "--speculative-num-steps"
    return values


def _typed(text: str) -> Any:
    try:
        value = ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return text
    return value if isinstance(value, int | float | list | tuple) else text


def _shown(final: str) -> str:
    final = _SECRET_FLAG.sub(r"\1***", final)
    lines = final.split("\n")
    inner = next(
        (line.strip() for line in lines[1:] if line.lstrip().startswith("Value error")), ""
    )
    return (f"{lines[0]} {inner}" if inner else lines[0])[:1000]


def _stage_of(cause: Cause | None, where: Trace | Mark, launch: LaunchLog) -> str | None:
    chain = where.chain if isinstance(where, Trace) else ""
    draft = bool(_DRAFT_FRAMES.search(chain))
    if cause and cause.name == "L-CFG-MODELTYPE" and "server_args" in chain:
        return "ARG"
    if cause and cause.stage:
        target_stage, _, draft_stage = cause.stage.partition("|")
        if cause.name == "L-MEM-GRAPH":
            draft = draft or launch.step in {"DW", "DKV", "DGR"}
        stage = draft_stage if draft and draft_stage else target_stage
        return "CFG" if launch.engine == "vllm" and stage == "DCFG" else stage
    if launch.ready:
        return "RUN"
    if cause and cause.name == "L-CTX-DRAFT-EARLY" and launch.step:
        return launch.step
    for frame in reversed(chain.split("\n")):
        for pattern, target_stage, draft_stage in _STAGE_FRAMES:
            if re.search(pattern, frame):
                return draft_stage if draft else target_stage
    return "DW" if draft and launch.step not in {"DKV", "DGR"} else launch.step


def _seconds_to(where: Trace | Mark, launch: LaunchLog) -> float | None:
    start, end = launch.first, where.time
    if start is None or end is None:
        start, end = launch.first_outer, where.outer
    if start is None or end is None:
        start, end = launch.first, launch.last
    return _seconds(start, end)


def _hangs(launch: LaunchLog) -> bool:
    """Whether ranks never connected, and only others wrote afterwards, or a minute went by."""
    if not launch.started_ranks - launch.completed_ranks:
        return False
    gap = _seconds(launch.last_outer_of_engine, launch.last_outer)
    return launch.foreign_lines >= 3 or (gap is not None and gap >= 60)


def _seconds(start: datetime | None, end: datetime | None) -> float | None:
    return None if start is None or end is None else round(seconds_between(start, end), 1)


def _version_of(launch: LaunchLog) -> ReleaseRange:
    if launch.engine == "vllm":
        return ReleaseRange(launch.release, launch.release)
    if launch.engine == "sglang" and len(launch.arguments) > 20:
        return releases_of_fields(launch.arguments, launch.complete)
    return releases_of_texts(launch.texts) if launch.engine == "sglang" else ReleaseRange()


def _refined_rule(cause: str, rule: str | None, values: Mapping[str, Any]) -> str | None:
    if cause == "L-W-KEY" and values.get("target_quantization") and values.get("which") == "draft":
        return "quantization-inherited"
    if cause == "L-E3-EMBED" and values.get("class") == values.get("target_class"):
        return "draft-path-missing"
    if cause == "L-W-SHARD" and "path" in values:
        return "weight-shard-missing"
    if cause == "L-CFG-NOFILE" and str(values.get("file", "")).endswith(".py"):
        return "remote-code-missing"
    return rule


def _values_of_launch(launch: LaunchLog) -> dict[str, Any]:
    values = dict(launch.values)
    arguments = launch.arguments
    if launch.engine == "sglang":
        for name, field in _DRAFT_ARGUMENTS.items():
            if arguments.get(field) is not None:
                values[name] = arguments[field]
    speculative = arguments.get("speculative_config") or launch.engine_config.get(
        "speculative_config"
    )
    if isinstance(speculative, dict):
        values["method"] = speculative.get("method")
        values["num_spec_tokens"] = speculative.get(
            "num_speculative_tokens", speculative.get("num_spec_tokens")
        )
    if (quantization := launch.engine_config.get("quantization")) not in (None, "None"):
        values["target_quantization"] = quantization
    if launch.nccl_error:
        values["last_error"] = launch.nccl_error.rpartition("error: ")[2]
        if size := re.search(r"\(size (\d+)\)", launch.nccl_error):
            values["segment_size"] = int(size[1])
    return values


def _launch_of(launch: LaunchLog) -> LoggedLaunch:
    arguments = launch.arguments
    speculative = arguments.get("speculative_config")
    draft = arguments.get("speculative_draft_model_path")
    if isinstance(speculative, dict):
        draft = speculative.get("model")
    target = arguments.get("model_path") or arguments.get("model")
    return LoggedLaunch(
        target=target or launch.engine_config.get("model"),
        draft=draft,
        arguments=arguments,
        environment=launch.environment,
        command=launch.command,
        complete=launch.complete,
    )
