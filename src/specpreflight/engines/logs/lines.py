"""One line of a log: whose it is, when it was written, and what it says.

SGLang (`utils/common.py:configure_logger`): `[2026-02-27 09:02:55 TP1] message`, no level;
`SGLANG_LOGGING_CONFIG_PATH` replaces that by any format, JSON too, as vLLM 0.33 can write.
vLLM (`logger.py`): `(Worker_TP0 pid=7) ERROR 02-15 20:01:01 [file.py:5] message`, without a year,
the prefix repeated on every line of a message. NCCL and the interpreter write neither.
"""

from __future__ import annotations

import json
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
#: How messages of SGLang begin, for formats of one's own.
_SGLANG_MESSAGE: Final = re.compile(
    r"server_args=|Init torch distributed |Load weight (?:begin|end)|Memory (?:pool end|baseline)|"
    r"Capture (?:cuda graph|draft|target|\w+ verify)|KV Cache is allocated|max_total_num_tokens=|"
    r"Application startup complete|The server is fired up|Prefill batch|Decode batch|"
    r"Scheduler hit an exception|Received sigquit|SIGQUIT received"
)
_DATE: Final = re.compile(r"20\d\d-\d\d-\d\d[ T]\d\d:\d\d:\d\d")
_LEVEL: Final = re.compile(r"\b(?:DEBUG|INFO|WARNING|ERROR)\b")
_RANK: Final = re.compile(r"\b(?:(?:DP|PP|TP|EP|ATTN_CP|MOE_DP)\d+ ?)+\b")
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
    if text.startswith("{") and (record := _json_record(text)):
        yield from _read_record(record, number, _moment(outer))
        return
    for part in text.split("\r"):
        if part.strip():
            yield _read(part, number, _moment(outer), year)


def _json_record(text: str) -> dict[str, object] | None:
    try:
        record = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return record if isinstance(record, dict) and isinstance(_message(record), str) else None


def _message(record: dict[str, object]) -> object:
    return record.get("message", record.get("msg"))


def _read_record(record: dict[str, object], number: int, outer: datetime | None) -> Iterator[Line]:
    """Yield the lines of a JSON record; an exception of its own follows its message."""
    told = " ".join(str(record.get(key, "")) for key in ("name", "logger", "pathname", "module"))
    engine = "vllm" if "vllm" in told else "sglang" if "sglang" in told else None
    stamp = record.get("asctime", record.get("timestamp", record.get("time")))
    date = _DATE.search(str(stamp))
    process = str(record.get("processName", "")).replace("MainProcess", "")
    text = f"{_message(record)}\n{record.get('exc_info') or ''}".rstrip()
    for place, part in enumerate(text.split("\n")):
        whose = engine if place == 0 or engine == "vllm" else None
        time = _moment(date[0]) if date and whose else None
        yield Line(number, part, process if whose else "", time, outer, whose)


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
    if not text.startswith(" ") and (match := _SGLANG_MESSAGE.search(text)):
        before = text[: match.start()]
        date, rank = _DATE.search(before), _RANK.search(before)
        if date or not before or _LEVEL.search(before):
            process = rank[0].strip() if rank else process
            time = _moment(date[0]) if date else None
            return Line(number, text[match.start() :], process, time, outer, engine or "sglang")
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
