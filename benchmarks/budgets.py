"""Print the ratios of the budget table, measured in one run on this machine.

    python benchmarks/budgets.py [--runs 15] [ROW …]

Each row times two commands as whole processes, in turn (A B A B …), and prints the medians and
their ratio. Times depend on the machine, ratios much less.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
EXAMPLE = ROOT / "examples" / "kimi-k2.5-eagle3"
PYTHON = sys.executable

#: The libraries the project stands on, with one model, as DESIGN's budget table defines the floor.
FLOOR = (
    PYTHON,
    "-c",
    "import click, rich.console; from pydantic import BaseModel; "
    "M = type('M', (BaseModel,), {'__annotations__': {'a': int}})",
)
CLICK = (PYTHON, "-c", "import click")


def ours(*words: str) -> tuple[str, ...]:
    """Return a specpreflight command line, run as the installed script would run."""
    return (PYTHON, "-c", "from specpreflight.cli import main; main()", *words)


@dataclass(frozen=True)
class Row:
    """A budget: `measured` may take at most `budget` times what `reference` takes."""

    name: str
    measured: tuple[str, ...]
    reference: tuple[str, ...]
    budget: float


PAIR = (str(EXAMPLE / "target"), str(EXAMPLE / "draft"))
CHECK = ("check", *PAIR, "--engine", "sglang@0.5.11", "--no-env")
CHECK_VLLM = ("check", *PAIR, "--engine", "vllm@0.11.0", "--no-env")

STORY = [
    word
    for setting in (
        "NCCL_PROTO=LL", "NCCL_ALGO=Ring", "NCCL_P2P_LEVEL=SYS", "NCCL_MAX_NCHANNELS=16",
        "NCCL_BUFFSIZE=16777216", "NCCL_NTHREADS=512",
    )
    for word in ("--env", setting)
]  # fmt: skip

ROWS = (
    Row("--version / import click", ours("--version"), CLICK, 1.3),
    Row("check (JSON) / floor", ours(*CHECK, "--format", "json"), FLOOR, 1.3),
    Row("check (text, piped) / floor", ours(*CHECK), FLOOR, 1.3),
    Row("check (terminal) / floor", ours(*CHECK, "--color", "always"), FLOOR, 1.3),
    Row("check vLLM (JSON) / floor", ours(*CHECK_VLLM, "--format", "json"), FLOOR, 1.3),
    Row("env show / floor", ours("env", "show", *STORY), FLOOR, 1.3),
    Row("env show --engine / floor", ours("env", "show", *STORY, "--engine", "sglang"), FLOOR, 1.3),
    Row("rules / floor", ours("rules"), FLOOR, 1.3),
)


def seconds(command: Sequence[str]) -> float:
    """Run a command with its output thrown away and return the wall time."""
    start = time.perf_counter()
    subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)
    return time.perf_counter() - start


def cost(command: Sequence[str]) -> tuple[float, float]:
    """Run a command and return its CPU seconds, children included, and its peak MiB."""
    pid = os.posix_spawn(
        command[0],
        list(command),
        os.environ,
        file_actions=[(os.POSIX_SPAWN_OPEN, 1, "/dev/null", os.O_WRONLY, 0)],
    )
    _, _, usage = os.wait4(pid, 0)
    return usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024


def peak_mib(command: Sequence[str]) -> float:
    """Return the peak resident memory of one run in MiB."""
    return cost(command)[1]


def measure(row: Row, runs: int) -> str:
    """Return one line of the table."""
    pairs = [(seconds(row.measured), seconds(row.reference)) for _ in range(runs + 1)][1:]
    ratio = statistics.median(ours / theirs for ours, theirs in pairs)
    ours_ms, theirs_ms = (statistics.median(side) * 1000 for side in zip(*pairs, strict=True))
    verdict = "ok" if ratio <= row.budget else "OVER"
    return (
        f"{row.name:<32} {ours_ms:7.0f} ms {theirs_ms:7.0f} ms   x{ratio:4.2f}  "
        f"(budget x{row.budget})  {peak_mib(row.measured):5.0f} MiB  {verdict}"
    )


def main() -> None:
    """Print the rows asked for, or all."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("rows", nargs="*", help="parts of row names; all if none is given")
    parser.add_argument("--runs", type=int, default=15)
    options = parser.parse_args()
    for row in ROWS:
        if not options.rows or any(part in row.name for part in options.rows):
            print(measure(row, options.runs), flush=True)


if __name__ == "__main__":
    main()
