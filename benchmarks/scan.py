"""Print what a scan costs: CPU time as a ratio to the loop it cannot do without, and peak memory.

    python benchmarks/scan.py [--sizes 1000 10000 50000] [--jobs 1] [--differ nothing values]

The loop is `os.scandir` and `json.loads` over the same files; the floor is that of `budgets.py`. A
scan of 40 families of identical configs may take the floor + 5 x the loop, one of configs that are
all different the floor + 30 x the loop. Those differ by `provenance`, in what nothing reads, or by
`values` that make each launch another one (see `tools/make_tree.py`). CPU times, not wall times,
are compared, since the machine may be busy; with `--jobs N` the processes' times are added. `again`
is a second scan, which takes the reports of the first from the cache.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import get_args

from budgets import FLOOR, PYTHON, cost, ours

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tools"))

from make_tree import Kind, make_tree

LOOP = """
import json, os, sys
def walk(path):
    with os.scandir(path) as entries:
        for entry in entries:
            if entry.is_dir():
                walk(entry.path)
            elif entry.name == "config.json":
                with open(entry.path, "rb") as file:
                    json.loads(file.read())
walk(sys.argv[1])
"""


def best_of(command: Sequence[str], runs: int) -> tuple[float, float]:
    """Return the least CPU seconds, and the peak memory, of several runs."""
    results = [cost(command) for _ in range(runs)]
    return min(seconds for seconds, _ in results), max(peak for _, peak in results)


#: What may be spent, in loops, by what configs differ.
BUDGETS: dict[Kind, int] = {"nothing": 5, "provenance": 30, "values": 30}


def measure(size: int, differ: Kind, jobs: int, runs: int) -> str:
    """Return one line of the table."""
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder, "tree")
        make_tree(root, size, 40, differ=differ, faults=0)
        walk = (PYTHON, "-c", LOOP, str(root))
        loop = best_of(walk, runs)[0] - best_of((PYTHON, "-c", "import json"), runs)[0]
        command = ours("scan", str(root), "--no-env", "--jobs", str(jobs))
        scan, peak = best_of((*command, "--no-cache"), runs)
        cost(command)
        again, _ = best_of(command, runs)
    floor, _ = best_of(FLOOR, 3)
    ratios = [(seconds - floor) / loop for seconds in (scan, again)]
    return (
        f"{size:7,} differ by {differ:10}  loop {loop:6.3f} s  "
        f"scan {scan:7.2f} s = floor + {ratios[0]:6.1f} x loop (budget {BUDGETS[differ]})  "
        f"again {again:6.2f} s = floor + {ratios[1]:5.1f} x loop  "
        f"{1000 * (scan - floor) / size:6.2f} ms a directory  {peak:4.0f} MiB"
    )


def main() -> None:
    """Print a line for each size and kind of tree."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sizes", nargs="*", type=int, default=[1_000, 10_000, 50_000])
    parser.add_argument("--differ", nargs="*", choices=get_args(Kind), default=get_args(Kind))
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--runs", type=int, default=3)
    options = parser.parse_args()
    for differ in options.differ:
        for size in options.sizes:
            print(measure(size, differ, options.jobs, options.runs), flush=True)


if __name__ == "__main__":
    main()
