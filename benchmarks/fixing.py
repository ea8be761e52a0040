"""How many drafts a second are fixed, with and without waiting for the disk.

    python benchmarks/fixing.py [DIRECTORY]

500 drafts are made and fixed in it, or in the system's folder for temporary files. The two ways
take turns; medians are printed.
"""

from __future__ import annotations

import statistics
import sys
import tempfile
import time
from pathlib import Path

from specpreflight.documents import read_document
from specpreflight.fixes.apply import apply_plans
from specpreflight.fixes.plan import FilePlan, plan_fixes
from specpreflight.models.finding import Edit, Finding, Outcome, Remedy

DRAFTS = 500
ROUNDS = 3
CONFIG = (
    b'{\n  "architectures": ["LlamaForCausalLMEagle3"],\n  "max_position_embeddings": 131072\n}\n'
)


def make_plans(folder: Path) -> list[FilePlan]:
    plans: list[FilePlan] = []
    for number in range(DRAFTS):
        draft = folder / f"draft-{number}"
        draft.mkdir()
        (draft / "config.json").write_bytes(CONFIG)
        document = read_document(draft / "config.json")
        edit = Edit(document.name, "/max_position_embeddings", 131072, 262144)
        remedy = Remedy("raise it", "edit", "safe", edits=(edit,))
        finding = Finding("draft-context-shorter", Outcome.CRASHES, "", remedies=(remedy,))
        plans += plan_fixes([finding], [document])
    return plans


def drafts_per_second(place: str | None, *, sync: bool) -> float:
    with tempfile.TemporaryDirectory(dir=place) as folder:
        plans = make_plans(Path(folder))
        start = time.perf_counter()
        apply_plans(plans, sync=sync)
        return DRAFTS / (time.perf_counter() - start)


def main() -> None:
    place = sys.argv[1] if len(sys.argv) > 1 else None
    rates: dict[bool, list[float]] = {False: [], True: []}
    for _ in range(ROUNDS):
        for sync, found in rates.items():
            found.append(drafts_per_second(place, sync=sync))
    for sync, found in rates.items():
        name = "flushed to the disk" if sync else "--no-fsync"
        print(f"{name:>20}: {statistics.median(found):6.0f} drafts a second")


if __name__ == "__main__":
    main()
