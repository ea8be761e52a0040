"""What killed a launch: of many tracebacks and fatal lines the one that is the cause.

The cause is the earliest of the innermost process: vLLM's workers before the engine core before the
API server, SGLang's schedulers before the main process. Of a chain it is the first block, except
where the second only words it better (an unknown model type). What survivors print about a lost
neighbour gives way to what the neighbour said.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

from specpreflight.engines.logs.causes import CAUSES, UNNAMED, Cause, is_noise
from specpreflight.engines.logs.launch_log import LaunchLog, Mark
from specpreflight.engines.logs.stages import is_of_draft
from specpreflight.engines.logs.tracebacks import Trace

UNKNOWN: Final = Cause("L-UNKNOWN", re.compile(""))
_MOE: Final = next(cause for cause in CAUSES if cause.name == "L-W-MOE")
_SECRET_FLAG: Final = re.compile(r"(--[\w-]*(?:keys?|token|secret|password)[ =])\S+")
_PREFERRED: Final = frozenset({"L-CFG-MODELTYPE", "L-MEM-GRAPH"})
#: What a rank says that lost another one.
_OF_SURVIVORS: Final = ("L-NCCL-", "L-DIST-")
_LAST_ERROR: Final = re.compile(r"Last error:\s*\n\s*([^\n]+)")
_SEGMENT: Final = re.compile(r"\(size (\d+)\)")
_NCCL_VERSION: Final = re.compile(r"NCCL version (\d+\.\d+\.\d+)")
_BOUND: Final = re.compile(r"index out of bounds: 0 <= .*?< (\d+)")
_ASSERTION: Final = re.compile(r"\| assert ([^\n|]+)$", re.M)
_BARRIER: Final = re.compile(r"TP rank (?P<rank>\d+) could finish the model loading")
_EXIT_CODE: Final = re.compile(r"exit code:? (-?\d+)")
_MODEL_FILE: Final = re.compile(r"/models/(\w+\.py):load_weights")
_MISSING_FLAGS: Final = {
    ("L-ARG-NONE", "sglang"): "--speculative-eagle-topk",
    ("L-ARG-NONE", "vllm"): "num_speculative_tokens",
    ("L-ARG-BARE", "sglang"): "--speculative-num-steps",
}


@dataclass(frozen=True, slots=True)
class Death:
    """A fatal error: its shape, where it stands, its text and what that says."""

    cause: Cause
    where: Trace | Mark
    message: str
    values: dict[str, Any] = field(default_factory=dict)


def find_death(launch: LaunchLog) -> Death | None:
    """Return what killed the launch, `None` where nothing fatal stands in its lines."""
    traces = [trace for trace in launch.tracebacks.traces if _is_death(trace, launch)]
    traces.sort(key=lambda trace: _priority(trace, launch))
    marks = [mark for mark in launch.marks if not _is_survived(mark, launch)]
    deaths = [
        *(death for trace in traces if (death := _death_of_trace(trace, traces, launch))),
        *(death for mark in marks if (death := _death_of_mark(mark, launch))),
        *_deaths_of_survivors(traces),
    ]
    return min(deaths, key=_doubt, default=None)


def _doubt(death: Death) -> int:
    """Order what may be the cause: what is known before what is not, the dead before survivors."""
    is_mark = isinstance(death.where, Mark)
    if death.cause.name == "L-DIST-BARRIER":
        return 5
    if death.cause.name == UNKNOWN.name:
        return 6 if is_mark else 4
    return (2 if death.cause.name.startswith(_OF_SURVIVORS) else 0) + is_mark


def _deaths_of_survivors(traces: Sequence[Trace]) -> Iterator[Death]:
    """Yield what survivors and parents say, for a log in which nobody else says anything."""
    for trace in traces:
        for final in trace.finals:
            if match := _BARRIER.search(final):
                values = {"rank": int(match["rank"]), "ranks": 1}
                yield Death(Cause("L-DIST-BARRIER", _BARRIER, "TW"), trace, _shown(final), values)
            elif match := _EXIT_CODE.search(final):
                code = int(match[1])
                cause = Cause("L-MEM-KILL", _EXIT_CODE) if code == -9 else UNKNOWN
                yield Death(cause, trace, _shown(final), {"exit_code": code})


def identify(final: str, chain: str, launch: LaunchLog) -> Cause | None:
    """Return the shape of a final message under these frames, `None` where none fits."""
    evidence = f"{chain}\n{launch.assertion or ''}\n{final}"
    for cause in (*CAUSES, *UNNAMED):
        if cause.engine not in (None, launch.engine) or not cause.message.search(final):
            continue
        if cause.frames is None or cause.frames.search(evidence):
            return cause
    return None


def _death_of_trace(trace: Trace, traces: Sequence[Trace], launch: LaunchLog) -> Death | None:
    finals = [final for final in trace.finals if not is_noise(final)]
    if not finals:
        return None
    group = _same_error(trace, launch)
    chain = "\n".join(other.chain for other in group)
    named = [(cause, final) for final in finals if (cause := identify(final, chain, launch))]
    cause, final = _choose(named) if named else (UNKNOWN, finals[0])
    values = _captures(cause, final, launch)
    if _is_packed(cause, values, chain):
        cause = _MOE
    processes = {other.process for other in group if other.process}
    if inner := _inner(cause, named):
        values["inner"] = inner
    values["ranks"] = max(len(processes), 1)
    values["which"] = values["where"] = "draft" if is_of_draft(cause, chain, launch) else "target"
    if match := _MODEL_FILE.search(chain):
        values["model_file"] = match[1]
    if cause.name in {"L-W-EMPTY", "L-UNKNOWN"} and (match := _ASSERTION.search(chain)):
        values["assertion"] = match[1].strip()
    earliest = min((other for other in group if other in traces), key=lambda one: one.number)
    shown = final if cause.name == UNKNOWN.name else _shown(final)
    return Death(cause, replace(earliest, frames=[chain]), _hide(shown), values)


def _death_of_mark(mark: Mark, launch: LaunchLog) -> Death | None:
    if mark.cause in {"ARGPARSE", "PROMPT"}:
        cause = identify(mark.text, "", launch)
        if cause is None:
            return None
        return Death(cause, mark, _hide(_shown(mark.text)), _captures(cause, mark.text, launch))
    if mark.cause == UNKNOWN.name:
        return Death(UNKNOWN, mark, _hide(mark.text), dict(mark.values))
    values = dict(mark.values)
    if mark.cause == "L-DIST-TIMEOUT":
        values["ranks_timed_out"] = len(launch.timed_out_ranks)
    stage = {"L-RUN-WATCHDOG": "RUN"}.get(mark.cause, "")
    return Death(Cause(mark.cause, re.compile(""), stage), mark, _hide(mark.text)[:400], values)


def _is_survived(mark: Mark, launch: LaunchLog) -> bool:
    """Whether the launch went on, or the line only tells of an end that was asked for."""
    if mark.before.served + 3 <= launch.served or launch.ready_line > mark.number:
        return True
    ends = [trace.number for trace in launch.tracebacks.traces if _is_interrupted(trace)]
    if launch.shut_down_line:
        ends.append(launch.shut_down_line)
    return mark.cause == UNKNOWN.name and any(end < mark.number for end in ends)


def _is_interrupted(trace: Trace) -> bool:
    return any(final.startswith("KeyboardInterrupt") for final in trace.finals)


def _is_death(trace: Trace, launch: LaunchLog) -> bool:
    if trace.ignored or not trace.finals or launch.ready_line > trace.number:
        return False
    if 0 < launch.shut_down_line < trace.number and launch.ready:
        return False
    if launch.ready and trace.before.served + 3 <= launch.served:
        return False
    if trace.fatal:
        return True
    if launch.progress > trace.before.progress:
        return False
    served = launch.ready and (launch.engine == "vllm" or trace.number > launch.ready_line)
    inner = trace.process.startswith(("Worker", "VllmWorker", "EngineCore"))
    return inner or not served


def _priority(trace: Trace, launch: LaunchLog) -> int:
    if launch.engine == "vllm":
        order = ("Worker", "VllmWorker", "EngineCore")
        if trace.process.startswith(order[:2]):
            return 0
        return 1 if trace.process.startswith(order[2]) else 2
    return 0 if trace.fatal else 1


def _is_packed(cause: Cause, values: Mapping[str, Any], chain: str) -> bool:
    """Whether a size differs because two fp4 values are packed into a byte, while loading."""
    a, b = values.get("a"), values.get("b")
    return cause.name == "L-SHAPE-AUX" and a == 2 * (b or 0) and ":forward" not in chain


def _alike(final: str) -> str:
    return re.sub(r"\d+", "#", final.partition("\n")[0])


def _same_error(trace: Trace, launch: LaunchLog) -> list[Trace]:
    """Return the tracebacks of all ranks that ended alike.

    Where ranks wrote through each other, one has the end of another, and another has none.
    """
    ends = {_alike(final) for final in trace.finals}
    return [
        other
        for other in launch.tracebacks.traces
        if other is trace
        or any(_alike(final) in ends for final in other.finals)
        or (other.fatal and trace.fatal and not other.finals)
    ]


def _choose(named: Sequence[tuple[Cause, str]]) -> tuple[Cause, str]:
    """Choose of a chain: the first block, unless a later one says the same better."""
    first = named[0]
    for cause, final in named[1:]:
        if cause.name == "L-MEM-GRAPH" and first[0].name != "L-MEM-OOM":
            continue
        if cause.name in _PREFERRED:
            return cause, final
    return first


def _inner(cause: Cause, named: Sequence[tuple[Cause, str]]) -> str | None:
    """Return the shape of the error that another one wraps, `None` where it stands alone."""
    if named and named[0][0].name != cause.name:
        return named[0][0].name
    if cause.name == "L-MEM-GRAPH" and named and "OutOfMemoryError" in named[0][1]:
        return "L-MEM-OOM"
    return None


def _captures(cause: Cause, final: str, launch: LaunchLog) -> dict[str, Any]:
    match = cause.message.search(_hide(final))
    found = match.groupdict() if match else {}
    values = {name.rstrip("_"): _typed(text) for name, text in found.items() if text is not None}
    if choices := found.get("choices"):
        values["choices"] = [word.strip(" '\"") for word in choices.split(",")]
    if flag := _MISSING_FLAGS.get((cause.name, launch.engine or "")):
        values["missing_flag"] = flag
    if cause.name in {"L-VL-ROPE", "L-HOTTOK"}:
        bound = _BOUND.search(f"{final}\n{launch.assertion or ''}")
        if bound and cause.name == "L-VL-ROPE":
            values["draft_context"] = int(bound[1])
    if cause.name.startswith("L-NCCL"):
        values |= _nccl_captures(final)
    return values


def _nccl_captures(final: str) -> dict[str, Any]:
    values: dict[str, Any] = {}
    if match := _LAST_ERROR.search(final):
        values |= last_error(match[1])
    if match := _NCCL_VERSION.search(final):
        values["nccl_version"] = match[1]
    return values


def last_error(text: str) -> dict[str, Any]:
    """Return what NCCL's last words say: the reason, and the size of a segment it could not get."""
    values: dict[str, Any] = {"last_error": text.rpartition("error: ")[2].strip()}
    if size := _SEGMENT.search(text):
        values["segment_size"] = int(size[1])
    return values


def _typed(text: str) -> Any:
    if text.startswith("0x"):
        return text
    try:
        value = ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return text
    if isinstance(value, set):
        return sorted(value) if all(isinstance(one, str) for one in value) else text
    return value if isinstance(value, int | float | list | tuple) else text


def _hide(text: str) -> str:
    return _SECRET_FLAG.sub(r"\1***", text)


def _shown(final: str) -> str:
    lines = final.split("\n")
    inner = next(
        (line.strip() for line in lines[1:] if line.lstrip().startswith("Value error")), ""
    )
    return (f"{lines[0]} {inner}" if inner else lines[0])[:1000]
