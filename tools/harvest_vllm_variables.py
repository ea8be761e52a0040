"""Write `engines/vllm/data/variables.json`: which VLLM_* names each release's code contains.

    python tools/harvest_vllm_variables.py FOLDER

FOLDER holds an unpacked wheel for each release, `FOLDER/0.11.0/vllm/…`. Every name that stands
anywhere in the Python files counts as read, so that no name in use is called unknown.
"""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

from packaging.version import Version

_NAME = re.compile(rb"\bVLLM_[A-Z0-9_]*[A-Z0-9]\b")
_TARGET = Path(__file__).parents[1] / "src/specpreflight/engines/vllm/data/variables.json"


def main(folder: Path) -> None:
    """Read all releases and write for each name the spans `[since, until]` in which it is read."""
    whole = (path.parent.parent.name for path in folder.glob("*/vllm/envs.py"))
    releases = sorted(whole, key=Version)
    spans: dict[str, list[list[str | None]]] = {}
    before: set[str] = set()
    for release in releases:
        now = _names(folder / release / "vllm")
        for name in now - before:
            spans.setdefault(name, []).append([release, None])
        for name in before - now:
            spans[name][-1][1] = release
        before = now
    lines = (f"{json.dumps(name)}: {json.dumps(spans[name])}" for name in sorted(spans))
    _TARGET.write_text("{\n" + ",\n".join(lines) + "\n}\n")


def _names(folder: Path) -> set[str]:
    found: set[bytes] = set()
    for path in folder.rglob("*.py"):
        found.update(_NAME.findall(path.read_bytes()))
    return {name.decode() for name in found}


if __name__ == "__main__":
    main(Path(sys.argv[1]))
