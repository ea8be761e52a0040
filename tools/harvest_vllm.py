#!/usr/bin/env python3
"""Write `engines/vllm/data/` from unpacked vLLM wheels.

    tools/harvest_vllm.py FOLDER        # FOLDER/<release>/vllm/ and FOLDER/<release>/*.dist-info/

Each data file keeps a topic as a history: `{name: [[release, value], …]}`, an entry per release
that changed the value and `null` where it went away, so that a diff shows what a release changed.
`override.json` keeps the statements of `hf_config_override` once, and per release their order.
"""

from __future__ import annotations

import json
import sys
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

from packaging.version import Version

from specpreflight.engines.vllm.harvest import TOPICS, read_engine

DATA = Path(__file__).parent.parent / "src/specpreflight/engines/vllm/data"

#: The first release whose behaviour is restated.
FIRST = Version("0.10.0")


def main(folder: Path) -> None:
    """Harvest every release below `folder` and write the histories."""
    releases = sorted(
        (path.parent.name for path in folder.glob("*/vllm") if Version(path.parent.name) >= FIRST),
        key=Version,
    )
    with ProcessPoolExecutor(2) as pool:
        facts = list(pool.map(read_engine, [folder / release / "vllm" for release in releases]))
    requirements = [_requirements(folder / release) for release in releases]
    _write("releases", dict(zip(releases, requirements, strict=True)))
    for topic in TOPICS:
        _write(topic, _history(releases, [fact[topic] for fact in facts]))
    _write("override", _programs(releases, [fact["override"] for fact in facts]))


def _requirements(folder: Path) -> dict[str, str]:
    """Return the `transformers` and `torch` requirements of a wheel's metadata."""
    found = {}
    for line in next(folder.glob("*.dist-info/METADATA")).read_text().splitlines():
        if line.startswith("Requires-Dist: ") and ";" not in line:
            text = line.removeprefix("Requires-Dist: ")
            for name in ("transformers", "torch"):
                if text.startswith(name) and text[len(name)] in "<>=! ":
                    found[name] = text[len(name) :].strip()
    return found


def _history(releases: list[str], facts: list[dict[str, Any]]) -> dict[str, list[Any]]:
    names = sorted({name for fact in facts for name in fact})
    history: dict[str, list[Any]] = {name: [] for name in names}
    for release, fact in zip(releases, facts, strict=True):
        for name, entries in history.items():
            value = fact.get(name)
            if (entries[-1][1] if entries else None) != value:
                entries.append([release, value])
    return history


def _programs(releases: list[str], programs: list[list[Any]]) -> dict[str, list[Any]]:
    statements: list[Any] = []
    orders: list[Any] = []
    for release, program in zip(releases, programs, strict=True):
        order = []
        for statement in program:
            if statement not in statements:
                statements.append(statement)
            order.append(statements.index(statement))
        if not orders or orders[-1][1] != order:
            orders.append([release, order])
    return {"statements": statements, "orders": orders}


def _write(name: str, content: dict[str, Any]) -> None:
    """Write one entry a line: small enough to read, stable enough to diff."""
    lines = []
    for key, value in content.items():
        lines.append(f"{json.dumps(key)}: {json.dumps(value, separators=(',', ':'))}")
    (DATA / f"{name}.json").write_text("{\n" + ",\n".join(lines) + "\n}\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
