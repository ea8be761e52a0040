"""How many drafts a second are fixed, with and without waiting for the disk.

    python benchmarks/fixing.py [DIRECTORY]

Trees of 500 drafts, all with a context length that is too short, are made in it, or in the system's
folder for temporary files, and fixed in turns:

- one run of `specpreflight scan --fix`: found, checked, planned, written, and checked again;
- the writing alone, in this process;
- the system alone: the folder, the two files, the link and the rename that a fix consists of.

Medians are printed, as drafts a second.
"""

from __future__ import annotations

import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

from specpreflight.documents import read_document
from specpreflight.fixes.apply import apply_plans
from specpreflight.fixes.plan import FilePlan, plan_fixes
from specpreflight.models.finding import Edit, Finding, Outcome, Remedy

DRAFTS = 500
ROUNDS = 3
EXAMPLE = Path(__file__).resolve().parents[1] / "examples" / "kimi-k2.5-eagle3"
SCAN = (
    *(sys.executable, "-m", "specpreflight", "scan", "drafts", "--target", "target", "--fix"),
    *("--engine", "sglang@0.5.11", "--no-env", "--no-cache"),
)
FLAGS = (
    "--", "--speculative-algorithm", "EAGLE3", "--speculative-num-steps", "3",
    "--speculative-eagle-topk", "1", "--speculative-num-draft-tokens", "4", "--trust-remote-code",
)  # fmt: skip


def make_tree(place: Path) -> list[Path]:
    shutil.copytree(EXAMPLE / "target", place / "target")
    configs = [place / "drafts" / f"draft-{number}" / "config.json" for number in range(DRAFTS)]
    for config in configs:
        config.parent.mkdir(parents=True)
        shutil.copy(EXAMPLE / "draft" / "config.json", config)
    return configs


def scan(place: Path, configs: list[Path], *options: str) -> float:
    start = time.perf_counter()
    done = subprocess.run([*SCAN, *options, *FLAGS], cwd=place, capture_output=True, check=True)
    seconds = time.perf_counter() - start
    assert done.stderr.count(b"\nfixed ") == DRAFTS - 1, done.stderr
    return seconds


def write(place: Path, configs: list[Path], *, sync: bool) -> float:
    plans: list[FilePlan] = []
    for config in configs:
        document = read_document(config)
        edit = Edit(document.name, "/max_position_embeddings", 131072, 262144)
        remedy = Remedy("raise it", "edit", "safe", edits=(edit,))
        finding = Finding("draft-context-shorter", Outcome.CRASHES, "", remedies=(remedy,))
        plans += plan_fixes([finding], [document])
    start = time.perf_counter()
    apply_plans(plans, sync=sync)
    return time.perf_counter() - start


def system(place: Path, configs: list[Path]) -> float:
    start = time.perf_counter()
    for config in configs:
        folder = config.parent / ".specpreflight"
        folder.mkdir()
        for path in (folder / "0001.json", config.with_suffix(".tmp")):
            path.write_bytes(b"{}")
        os.link(config, folder / "0001-config.json")
        config.with_suffix(".tmp").replace(config)
    return time.perf_counter() - start


MEASURED: dict[str, Callable[[Path, list[Path]], float]] = {
    "scan --fix --no-fsync": lambda place, configs: scan(place, configs, "--no-fsync"),
    "scan --fix": scan,
    "writing, --no-fsync": partial(write, sync=False),
    "writing, flushed to the disk": partial(write, sync=True),
    "the system alone": system,
}


def main() -> None:
    directory = sys.argv[1] if len(sys.argv) > 1 else None
    rates: dict[str, list[float]] = {name: [] for name in MEASURED}
    for _ in range(ROUNDS):
        for name, measure in MEASURED.items():
            with tempfile.TemporaryDirectory(dir=directory) as folder:
                seconds = measure(Path(folder), make_tree(Path(folder)))
            rates[name].append(DRAFTS / seconds)
    for name, found in rates.items():
        print(f"{name:>30}: {statistics.median(found):6.0f} drafts a second")


if __name__ == "__main__":
    main()
