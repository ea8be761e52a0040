"""Fatal lines that carry no traceback: parser errors, watchdogs, kills, what a parent says.

SGLang's parent says that a child died, and from 0.5.10 with which exit code
(`managers/*subprocess*`, `entrypoints/engine.py`); torch's NCCL watchdog aborts the process from
C++; the kernel, systemd and Docker tell of a kill.
"""

from __future__ import annotations

import re
from typing import Any, Final

from specpreflight.engines.logs.launch_log import LaunchLog, Mark
from specpreflight.engines.logs.lines import Line

_TIMEOUT: Final = re.compile(
    r"Watchdog caught collective operation timeout: WorkNCCL\(.*?OpType=(\w+).*?"
    r"Timeout\(ms\)=(\d+)(?:.*? ran for (\d+) milliseconds)?"
)
_SERVING_WATCHDOG: Final = re.compile(r"atchdog timeout \(self\.watchdog_timeout=(\d+\.?\d*)")
_ARGPARSE: Final = re.compile(r"^[\w./-]+(?: serve)?: error: .+")
_KILLED: Final = re.compile(
    r"[Ee]xit ?code[:=]? ?-9\b|status=9/KILL|Out of memory: Killed process (?P<pid>\d+)|"
    r"^Killed$|exited with code 137\b|OOMKilled"
)
_DEAD: Final = re.compile(
    r"Received sigquit from a child|SIGQUIT received\.|scheduler is dead\.|died unexpectedly|"
    r"crashed with exit code|Child process unexpectedly failed|terminated with -?[1-9]"
)
#: Words without which neither pattern can match, which are found faster.
_OF_KILLS: Final = ("ill", "KILL", "xit", "137")
_OF_DEATHS: Final = (
    "igquit", "SIGQUIT", "dead.", "died", "crashed", "unexpectedly", "terminated with",
)  # fmt: skip
_EXIT_CODE: Final = re.compile(r"[Ee]xit ?code[:=]? ?(-?\d+)|terminated with (-?\d+)")
_PORT: Final = re.compile(
    r"error while attempting to bind on address \('(?P<host>[^']+)', (?P<port>\d+)\)"
)
_SHUTDOWN: Final = re.compile(
    r"INFO: +Shutting down|SIGTERM received|Received (?:SIGTERM|signal 15)|signal_handler.*SIGTERM"
)
_PROMPT: Final = "Do you wish to run the custom code? [y/N]"
_MOST_MARKS: Final = 64


def read_mark(launch: LaunchLog, line: Line) -> None:
    """Keep a line that tells of a death."""
    text = line.text
    if "ssertion `" in text:
        launch.assertion = launch.assertion or text
    if not launch.shut_down_line and _SHUTDOWN.search(text):
        launch.shut_down_line = line.number
    told = _cause_of(launch, line)
    if told is not None:
        cause, values = told
        if len(launch.marks) == _MOST_MARKS:
            del launch.marks[_MOST_MARKS // 2]
        launch.marks.append(
            Mark(cause, text, line.number, line.time, line.outer, launch.now, values)
        )


def _cause_of(launch: LaunchLog, line: Line) -> tuple[str, dict[str, Any]] | None:
    text = line.text
    if "atchdog caught" in text and (match := _TIMEOUT.search(text)):
        launch.timed_out_ranks.add(line.process or text[:12])
        values = {"op": match[1], "timeout_ms": int(match[2])}
        return "L-DIST-TIMEOUT", values | ({"ran_ms": int(match[3])} if match[3] else {})
    if "self.soft=True" not in text and (match := _SERVING_WATCHDOG.search(text)):
        return "L-RUN-WATCHDOG", {"watchdog_timeout": float(match[1])}
    killed = _KILLED.search(text) if any(words in text for words in _OF_KILLS) else None
    if (match := killed) and not launch.shut_down_line:
        pid = {"pid": int(match["pid"])} if match["pid"] else {}
        return "L-MEM-KILL", {"exit_code": -9, **pid}
    if line.engine is None and "error: " in text and _ARGPARSE.match(text):
        launch.engines["vllm" if "vllm" in text or "api_server" in text else "sglang"] += 1
        return "ARGPARSE", {}
    if "bind on" in text and (match := _PORT.search(text)):
        return "L-OS-PORT", {"host": match["host"], "port": int(match["port"])}
    if any(words in text for words in _OF_DEATHS) and _DEAD.search(text):
        code = _EXIT_CODE.search(text)
        return "L-UNKNOWN", {"exit_code": int(code[1] or code[2])} if code else {}
    return ("PROMPT", {}) if _PROMPT in text else None
