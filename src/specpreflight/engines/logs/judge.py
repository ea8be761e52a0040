"""What became of a launch: its stage, its cause, and what the cause's message says."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any, Final

from packaging.version import Version

from specpreflight.engines.logs.acceptance import is_falling, mean, mean_speed, silent_fault
from specpreflight.engines.logs.arguments import read_command
from specpreflight.engines.logs.deaths import UNKNOWN, find_death, last_error
from specpreflight.engines.logs.launch_log import LaunchLog, Mark
from specpreflight.engines.logs.lines import seconds_between
from specpreflight.engines.logs.nccl_lines import not_as_asked
from specpreflight.engines.logs.nearest import nearest
from specpreflight.engines.logs.stages import stage_of
from specpreflight.engines.logs.suspects import find_suspects
from specpreflight.engines.logs.tracebacks import Trace
from specpreflight.engines.logs.versions import releases_of_fields, releases_of_texts
from specpreflight.models.diagnosis import (
    Diagnosis,
    LoggedLaunch,
    NcclReport,
    ReleaseRange,
    Serving,
)

_DRAFT_ARGUMENTS: Final = {
    "num_steps": "speculative_num_steps",
    "topk": "speculative_eagle_topk",
    "num_draft_tokens": "speculative_num_draft_tokens",
    "algorithm": "speculative_algorithm",
    "mem_fraction_static": "mem_fraction_static",
}


_TP_RANK: Final = re.compile(r"(?:(?<![A-Z])TP|VllmWorker)(\d+)")


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
    death = find_death(launch)
    if death and isinstance(death.where, Mark) and death.cause.name == UNKNOWN.name:
        death = None if _never_connected(launch) else death
    length, rate = mean(launch.samples)
    values = _values_of_launch(launch)
    version = _version_of(launch)
    cause = rule = message = None
    seconds = None
    stage = launch.step
    healthy: bool | None = True if launch.ready else None
    if death is not None:
        cause, message = death.cause.name, death.message
        values.update(death.values)
        stage = stage_of(death.cause, death.where, launch)
        healthy = False
        seconds = _seconds_to(death.where, launch)
        rule = _refined_rule(cause, death.cause.rule, values, version)
    elif launch.step == "DIST" and (_hangs(launch) or _never_connected(launch)):
        cause, healthy = "L-NCCL-HANG", False
        if (gap := _silence(launch)) is not None:
            values["silent_seconds"] = gap
    if not healthy and (behind := _ranks_behind(launch)):
        values["ranks_behind"] = behind
    if missing := sorted(launch.nccl.started - launch.nccl.completed):
        values["ranks_without_init_complete"] = missing
        if len(missing) == 1:
            values["rank_without_init_complete"] = missing[0]
    nothing = 0.0 if launch.engine == "vllm" and (version.high or "").startswith("0.8.") else 1.0
    fault = silent_fault(length, len(launch.samples), nothing)
    serving = _serving_of(launch, values, nothing, fault)
    if healthy and rule is None:
        rule = next((one.rule for one in serving.suspects if one.seen), None)
    environment = {**launch.environment, **launch.nccl.asked}
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
        last_step=launch.step,
        first_line=launch.first_line,
        last_line=launch.last_line,
        serving=serving,
        memory=launch.memory,
        nccl=NcclReport(launch.nccl.as_data(), tuple(not_as_asked(launch.nccl, environment))),
        seconds_to_ready=_seconds(launch.first, launch.ready_time),
        nearest=nearest(message) if cause == UNKNOWN.name and message and rule is None else (),
    )


def _serving_of(
    launch: LaunchLog, values: Mapping[str, Any], nothing: float, fault: str | None
) -> Serving:
    total, each = mean_speed(launch.speeds)
    falls = is_falling([sample.length for sample in launch.samples], nothing)
    suspects = (
        find_suspects(launch.engine, values, launch.arguments, launch.warnings, is_falling=falls)
        if fault or falls
        else ()
    )
    return Serving(total, each, falls, tuple(suspects))


def _seconds_to(where: Trace | Mark, launch: LaunchLog) -> float | None:
    start, end = launch.first, where.time
    if start is None or end is None:
        start, end = launch.first_outer, where.outer
    if start is None or end is None:
        start, end = launch.first, where.before.time
    return _seconds(start, end)


def _never_connected(launch: LaunchLog) -> bool:
    """Whether ranks were ended by their parent while they were still connecting."""
    missing = launch.nccl.started - launch.nccl.completed
    return launch.step == "DIST" and bool(missing and launch.marks)


def _hangs(launch: LaunchLog) -> bool:
    """Whether ranks never connected: only others wrote afterwards, or minutes went by.

    Where all of them say that they did, or NCCL says nothing, only time proves it.
    """
    gap = _silence(launch) or 0
    if launch.nccl.started - launch.nccl.completed:
        return launch.foreign_lines >= 3 or gap >= 60
    return gap >= (60 if launch.nccl.started else 300)


def _silence(launch: LaunchLog) -> float | None:
    """Return the seconds from the engine's last line to the log's last, by the wrapper's clock."""
    return _seconds(launch.last_outer_of_engine, launch.last_outer)


def _ranks_behind(launch: LaunchLog) -> list[str]:
    """Return the ranks that did not get as far as most, by the lines that all of them print."""
    most = max(launch.reached.values(), default=0)
    behind = [rank for rank in sorted(launch.reached) if launch.reached[rank] < most]
    return behind if 2 * len(behind) < len(launch.reached) else []


def _seconds(start: datetime | None, end: datetime | None) -> float | None:
    return None if start is None or end is None else round(seconds_between(start, end), 1)


def _version_of(launch: LaunchLog) -> ReleaseRange:
    if launch.engine == "vllm":
        return ReleaseRange(launch.release, launch.release)
    if launch.engine != "sglang":
        return ReleaseRange()
    told = releases_of_texts(launch.texts)
    if len(launch.arguments) > 20:
        told = releases_of_fields(launch.arguments, launch.complete)
    named = launch.release
    return ReleaseRange(named, named) if named and told.holds(named) else told


def _refined_rule(
    cause: str, rule: str | None, values: Mapping[str, Any], version: ReleaseRange
) -> str | None:
    """Return the rule, where the message's values or the release tell another than the shape."""
    is_draft = values.get("which") == "draft"
    file = str(values.get("file") or values.get("path") or "")
    others = {
        "L-W-KEY": is_draft and values.get("target_quantization") and "quantization-inherited",
        "L-BK-MLA": is_draft and "draft-attention-backend-unfit",
        "L-BK-EAGLE": "draft-attention-backend-unfit",
        "L-E3-EMBED": values.get("class") == values.get("target_class") and "draft-path-missing",
        "L-W-SHARD": "path" in values and "weight-shard-missing",
        "L-CFG-NOFILE": file.endswith(".py") and "remote-code-missing",
        "L-CFG-NOTVALIDJSON": "generation_config" in file and "generation-config-broken",
        "L-SHAPE-HID": values.get("algorithm") == "STANDALONE" and "standalone-widths-differ",
        "L-SHAPE-AUX": values.get("a") == 2 * values.get("b", 0) and "quantization-contradicts",
        "L-CTX-RUN": version.high
        and Version(version.high) < Version("0.5.3")
        and "rotary-table-short",
    }
    return others.get(cause) or rule


def _values_of_launch(launch: LaunchLog) -> dict[str, Any]:
    values = dict(launch.values)
    arguments = launch.arguments or read_command(launch.command or "")
    if launch.engine == "sglang":
        for name, field in _DRAFT_ARGUMENTS.items():
            if arguments.get(field) is not None:
                values[name] = arguments[field]
    if (size := _tensor_parallel_size(launch, arguments)) is not None:
        values["tp"] = size
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
    if launch.build:
        values["build"] = launch.build
    if launch.libraries:
        values["libraries"] = dict(launch.libraries)
    nccl = launch.nccl
    if nccl.asked:
        values["set_by_environment"] = dict(nccl.asked)
    if nccl.version:
        values["nccl_version"] = nccl.version
    if nccl.error:
        values |= last_error(nccl.error)
    return values


def _tensor_parallel_size(launch: LaunchLog, arguments: Mapping[str, Any]) -> int | None:
    """Return it from the arguments, else from the ranks that wrote."""
    for told in (arguments, launch.engine_config):
        for name in ("tp_size", "tensor_parallel_size"):
            if isinstance(told.get(name), int):
                return int(told[name])
    ranks = [int(rank) for process in launch.processes for rank in _TP_RANK.findall(process)]
    if ranks:
        return max(ranks) + 1
    return 1 if arguments else None


def _launch_of(launch: LaunchLog) -> LoggedLaunch:
    arguments = launch.arguments
    named = arguments or read_command(launch.command or "")
    speculative = named.get("speculative_config")
    draft = named.get("speculative_draft_model_path")
    if isinstance(speculative, dict):
        draft = speculative.get("model")
    target = named.get("model_path") or named.get("model")
    return LoggedLaunch(
        target=target or launch.engine_config.get("model"),
        draft=draft,
        arguments=arguments,
        environment={**launch.environment, **launch.nccl.asked},
        proven=_proven(launch),
        command=launch.command,
        complete=launch.complete,
    )


def _proven(launch: LaunchLog) -> dict[str, str]:
    """Return the variable without which a context mismatch would have stopped the launch.

    `configs/model_config.py`: an error since 0.5.1, unless it is allowed.
    """
    low = _version_of(launch).low
    warned = launch.engine == "sglang" and "context-exceeds-draft" in launch.warnings
    if not warned or low is None or Version(low) < Version("0.5.1"):
        return {}
    return {"SGLANG_ALLOW_OVERWRITE_LONGER_CONTEXT_LEN": "1"}
