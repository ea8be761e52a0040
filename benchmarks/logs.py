"""How long `diagnose` takes for a large log, against a loop over its lines.

    python benchmarks/logs.py [MEGABYTES]

Prints seconds, the ratio to `for line in file: n += b"Traceback" in line` (budget 2.5) and the
peak memory (budget 120 MB). The log is the example's, its serving lines repeated.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from pathlib import Path

EXAMPLE = Path(__file__).parents[1] / "examples/kimi-k2.5-eagle3/launch-2-steps.log"
ACCESS = (
    b'[2026-02-26 21:30:00] INFO:     10.0.0.8:4001 - "POST /v1/chat/completions HTTP/1.1" 200 OK\n'
)
RUN = """
import resource, sys
from specpreflight.cli import main
try:
    main(["diagnose", sys.argv[1], "--format", "json"])
except SystemExit:
    print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024, file=sys.stderr)
"""


def main(megabytes: int) -> None:
    start = EXAMPLE.read_bytes()
    serving = b"".join(
        line + b"\n" + ACCESS for line in start.split(b"\n") if b"Decode batch" in line
    )
    with tempfile.NamedTemporaryFile(suffix=".log") as log:
        log.write(start)
        for _ in range(megabytes * 1_000_000 // len(serving)):
            log.write(serving)
        log.flush()
        begun, found = time.perf_counter(), 0
        with Path(log.name).open("rb") as file:
            for line in file:
                found += b"Traceback" in line
        loop = time.perf_counter() - begun
        begun = time.perf_counter()
        ran = subprocess.run(
            [sys.executable, "-c", RUN, log.name], capture_output=True, check=True, text=True
        )
        taken = time.perf_counter() - begun
    print(f"{megabytes} MB: {taken:.2f} s, {taken / loop:.2f} of the loop, {ran.stderr.strip()} MB")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 1000)
