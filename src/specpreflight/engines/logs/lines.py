"""One line of a log: whose it is, when it was written, and what it says.

SGLang (`utils/common.py:configure_logger`): `[2026-02-27 09:02:55 TP1] message`, no level.
vLLM (`logger.py`): `(Worker_TP0 pid=7) ERROR 02-15 20:01:01 [file.py:5] message`, without a year,
the prefix repeated on every line of a message. NCCL and the interpreter write neither.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

#: What takes a wrapper and colours off a line: (the wrapper's time, the text).
Unwrap = Callable[[bytes], tuple[str | None, str]]

_SGLANG: Final = re.compile(
    r"\[(20\d\d-\d\d-\d\d \d\d:\d\d:\d\d(?:\.\d+)?)((?: [A-Za-z_]+\d*(?:\[\d+\])?)*)\] ?"
)
_VLLM_PROCESS: Final = re.compile(r"\((\w+)(?: rank=(\d+))? pid=\d+\) ?")
_VLLM: Final = re.compile(
    r"(?:DEBUG|INFO|WARNING|ERROR|CRITICAL) (\d\d)-(\d\d) (\d\d):(\d\d):(\d\d) \[[\w./-]+:\d+\] ?"
)
_GLOG: Final = re.compile(
    r"(?:\[rank(\d+)\]:)?\[[IWEF](\d\d)(\d\d) (\d\d):(\d\d):(\d\d)(?:\.\d+)? "
)


@dataclass(frozen=True, slots=True)
class Line:
    """A line without its prefix.

    `process` is what the engine calls the writer (`TP1`, `Worker_TP0`, `rank3`; empty: the main
    process or unknown), `time` the engine's own clock, `outer` the wrapper's.
    """

    number: int
    text: str
    process: str
    time: datetime | None
    outer: datetime | None
    engine: str | None


def read_line(raw: bytes, number: int, unwrap: Unwrap, year: int) -> Iterator[Line]:
    """Yield what a line says; what a progress bar wrote before a message is a line of its own.

    Args:
        raw: the line, without its end.
        number: its number in the file, from 1.
        unwrap: takes off what a wrapper added.
        year: for the times that carry none.
    """
    outer, text = unwrap(raw)
    for part in text.split("\r"):
        if part.strip():
            yield _read(part, number, _moment(outer), year)


def _read(text: str, number: int, outer: datetime | None, year: int) -> Line:
    if outer is not None:
        year = outer.year
    if "[20" in text and (match := _SGLANG.search(text)):
        process = match[2].strip()
        time = _moment(match[1])
        return Line(number, text[match.end() :], process, time, outer, "sglang")
    process, engine = "", None
    if text.startswith("(") and (match := _VLLM_PROCESS.match(text)):
        process, engine = match[1] + (match[2] or ""), "vllm"
        text = text[match.end() :]
    if match := _VLLM.match(text):
        month, day, hour, minute, second = map(int, match.groups())
        time = _checked(year, month, day, hour, minute, second)
        return Line(number, text[match.end() :], process, time, outer, "vllm")
    if "[" in text[:9] and (match := _GLOG.match(text)):
        month, day, hour, minute, second = map(int, match.groups()[1:])
        time = _checked(year, month, day, hour, minute, second)
        return Line(number, text, f"rank{match[1]}" if match[1] else "", time, outer, engine)
    return Line(number, text, process, None, outer, engine)


def _moment(text: str | None) -> datetime | None:
    try:
        return datetime.fromisoformat(text[:19]) if text else None
    except ValueError:
        return None


def _checked(year: int, *rest: int) -> datetime | None:
    try:
        return datetime(year, *rest)  # type: ignore[arg-type]
    except ValueError:
        return None


def seconds_between(start: datetime, end: datetime) -> float:
    """Return the seconds from `start` to `end`; a clock without a year may have wrapped."""
    if end < start - timedelta(days=180):
        end = end.replace(year=end.year + 1)
    return (end - start).total_seconds()
