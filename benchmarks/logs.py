"""How long `diagnose` takes for large logs, against a loop over their lines.

    python benchmarks/logs.py [MEGABYTES]

Prints the processor's seconds, the ratio to `for line in file: n += b"Traceback" in line` (budget
2.5 for the ordinary log) and the peak memory (budget 120 MB). The ordinary log is the example's,
its serving lines repeated; the dense one has the traceback of a refused request every 4 KB.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from itertools import cycle
from pathlib import Path

EXAMPLE = Path(__file__).parents[1] / "examples/kimi-k2.5-eagle3/launch-2-steps.log"
ACCESS = (
    b'[2026-02-26 21:30:00] INFO:     10.0.0.8:4001 - "POST /v1/chat/completions HTTP/1.1" 200 OK\n'
)
FRAME = b"""  File "/opt/venv/lib/python3.12/site-packages/starlette/part%d.py", line 63, in app
    await self.app(scope, receive, send)
"""
REFUSED = b"""[2026-02-26 21:30:00] ERROR:    Exception in ASGI application
Traceback (most recent call last):
%sValueError: Input length (%d tokens) exceeds the maximum allowed length (40960 tokens).
"""
EVERY = 4_000
RUN = """
import json, resource, sys, time
from specpreflight.cli import main
try:
    main(["diagnose", sys.argv[1], "--format", "json"])
except SystemExit:
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    print(json.dumps([time.process_time(), memory]), file=sys.stderr)
"""


def ordinary(start: bytes) -> Iterator[bytes]:
    """Yield the lines of a server that serves."""
    serving = [line + b"\n" for line in start.split(b"\n") if b"Decode batch" in line]
    for line in cycle(serving):
        yield line + ACCESS


def dense(start: bytes) -> Iterator[bytes]:
    """Yield the same with a refused request every few KB, each with a number of its own."""
    frames = b"".join(FRAME % place for place in range(18))
    since = 0
    for number, lines in enumerate(ordinary(start)):
        yield lines
        since += len(lines)
        if since >= EVERY:
            since = 0
            yield REFUSED % (frames, 40960 + number)


def measure(name: str, start: bytes, lines: Iterator[bytes], megabytes: int) -> None:
    """Print what one log costs."""
    with tempfile.NamedTemporaryFile(suffix=".log") as log:
        size = log.write(start)
        while size < megabytes * 1_000_000:
            size += log.write(next(lines))
        log.flush()
        begun, found = time.process_time(), 0
        with Path(log.name).open("rb") as file:
            for line in file:
                found += b"Traceback" in line
        loop = time.process_time() - begun
        ran = subprocess.run(
            [sys.executable, "-c", RUN, log.name], capture_output=True, check=True, text=True
        )
        taken, memory = json.loads(ran.stderr.splitlines()[-1])
    print(f"{name}, {megabytes} MB: {taken:.2f} s, {taken / loop:.2f} of the loop, {memory} MB")


if __name__ == "__main__":
    example = EXAMPLE.read_bytes()
    for named, form in (("ordinary", ordinary), ("dense", dense)):
        measure(named, example, form(example), int(sys.argv[1]) if len(sys.argv) > 1 else 1000)
