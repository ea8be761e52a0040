"""Tracebacks, put together from lines that several processes wrote into one file.

SGLang does not repeat its prefix on the lines of a traceback, so those of several ranks may be
interleaved; vLLM repeats it, so each process has its own.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final

from specpreflight.engines.logs.lines import Line

_FRAME: Final = re.compile(r'\s*File "([^"]+)", line \d+, in (.+)')
_OF_REQUEST: Final = re.compile(r"starlette/|fastapi/|entrypoints/openai/\S*serving")
_PACKAGES: Final = re.compile(r".*(?:site-packages|dist-packages)/")
#: How a traceback begins; in the middle of a line somebody quotes one.
_HEADER: Final = "Traceback (most recent call last):"
#: How the engines announce that a traceback is the end of a process.
FATAL: Final = (
    "hit an exception",
    "EngineCore failed to start",
    "EngineCore encountered a fatal error",
    "WorkerProc failed",
    "WorkerProc hit an exception",
    "Initialization failed. warmup error",
)
_CHAINED: Final = ("During handling of the above", "The above exception was the direct")
_MOST_LINES: Final = 400
_MOST_AFTER: Final = 8
_MOST_TRACES: Final = 256
#: So many lines of others may stand between two of a traceback.
_MOST_BETWEEN: Final = 200


@dataclass(frozen=True, slots=True)
class Before:
    """How far a launch had come: lines of serving, changes of the step, the last time told."""

    served: int = 0
    progress: int = 0
    time: datetime | None = None


@dataclass(slots=True)
class Trace:
    """A traceback with what it is chained to.

    `finals` are the messages at the ends of its blocks, the first raised first, each with the
    lines that continue it. `fatal` says that the engine itself announced a death.
    """

    process: str
    number: int
    time: datetime | None
    outer: datetime | None
    fatal: bool = False
    ignored: bool = False
    before: Before = Before()
    frames: list[str] = field(default_factory=list)
    finals: list[str] = field(default_factory=list)
    open: bool = True
    chained: bool = False
    after: int = 0

    @property
    def chain(self) -> str:
        """The frames as `file:function`, each with its source line, outermost first."""
        return "\n".join(self.frames)


class TraceReader:
    """Collects the tracebacks of one launch."""

    def __init__(self) -> None:
        self.traces: list[Trace] = []
        self._current: dict[str, Trace] = {}
        self._announced: dict[str, int] = {}
        self._ignored_line = -9
        self._between = 0

    @property
    def is_open(self) -> bool:
        """Whether the next lines may belong to a traceback."""
        return self._between < _MOST_BETWEEN and any(
            trace.open or trace.after < _MOST_AFTER for trace in self._current.values()
        )

    @property
    def are_of_requests(self) -> bool:
        """Whether all that were read were raised while a request was handled."""
        return all(not trace.frames or _OF_REQUEST.search(trace.chain) for trace in self.traces)

    @property
    def is_chained(self) -> bool:
        """Whether the next traceback goes on with one that was read."""
        return any(trace.chained for trace in self._current.values())

    def end_requests(self) -> None:
        """Wait no longer for lines that continue the messages of tracebacks, but for fatal ones."""
        for trace in self._current.values():
            if not trace.open and not trace.fatal:
                trace.after = _MOST_AFTER

    def read(self, line: Line, before: Before) -> bool:
        """Take a line; return whether it belongs to a traceback."""
        belongs = self._read(line, before)
        self._between = 0 if belongs else self._between + 1
        return belongs

    def _read(self, line: Line, before: Before) -> bool:
        text = line.text
        if any(words in text for words in FATAL):
            self._announced[line.process] = line.number
        if text.startswith("Exception ignored"):
            self._ignored_line = line.number
        key = line.process if line.engine else ""
        trace = self._current.get(key) if line.engine == "vllm" or not line.engine else None
        if text.rstrip().endswith(_HEADER):
            self._begin(line, trace, key, before)
            return True
        if trace is None or (line.time and line.engine != "vllm"):
            if line.engine == "sglang" and (bare := self._current.get("")) and not bare.open:
                bare.after = _MOST_AFTER
            return False
        return self._continue(trace, text)

    def _begin(self, line: Line, trace: Trace | None, key: str, before: Before) -> None:
        if trace and trace.chained:
            trace.open, trace.chained = True, False
            return
        begun = Trace(line.process, line.number, line.time, line.outer, before=before)
        near = line.number - self._announced.get(line.process, -9) <= 3
        begun.fatal = near or any(words in line.text for words in FATAL)
        begun.ignored = line.number - self._ignored_line <= 2
        self._current[key if line.engine == "vllm" else ""] = begun
        if len(self.traces) == _MOST_TRACES:
            del self.traces[_MOST_TRACES // 2]
        self.traces.append(begun)

    def _continue(self, trace: Trace, text: str) -> bool:
        if match := _FRAME.match(text):
            trace.open, trace.after = True, 0
            if len(trace.frames) < _MOST_LINES:
                trace.frames.append(f"{_PACKAGES.sub('', match[1])}:{match[2]}")
            return True
        if text.startswith(_CHAINED):
            trace.chained = True
            return True
        if trace.open:
            if text.startswith(" "):
                if trace.frames and len(trace.frames) < _MOST_LINES:
                    trace.frames[-1] += f" | {text.strip()}"
                return True
            trace.finals.append(text[:8000])
            trace.open, trace.after = False, 0
            return True
        if trace.finals and trace.after < _MOST_AFTER and "NCCL INFO" not in text:
            trace.finals[-1] += "\n" + text[:4000]
            trace.after += 1
            return True
        return False
