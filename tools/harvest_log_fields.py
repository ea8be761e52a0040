"""Harvest which fields SGLang's `server_args=` line has in which release.

    python tools/harvest_log_fields.py SOURCES

`SOURCES` holds one unpacked wheel a release (`SOURCES/0.5.9/sglang/srt/server_args.py`). The fields
are those of the dataclass `ServerArgs`; since 0.5.20 they stand in `arg_groups/fields/`. Written:
`{field: [[since, before], …]}`, `before` null where the newest release still has it.
"""

from __future__ import annotations

import ast
import json
import sys
from collections.abc import Iterator
from pathlib import Path

from packaging.version import Version

OUTPUT = Path(__file__).parents[1] / "src/specpreflight/engines/logs/data/server_args_fields.json"


def read_fields(package: Path) -> set[str]:
    """Return the fields of a release's `ServerArgs`."""
    fields = set(_annotated(package / "server_args.py", "ServerArgs"))
    for path in (package / "arg_groups/fields").glob("*.py"):
        fields.update(_annotated(path, None))
    return fields


def _annotated(path: Path, name: str | None) -> Iterator[str]:
    for node in ast.parse(path.read_text()).body:
        if isinstance(node, ast.ClassDef) and name in (None, node.name):
            for line in node.body:
                if (
                    isinstance(line, ast.AnnAssign)
                    and isinstance(line.target, ast.Name)
                    and "ClassVar" not in ast.unparse(line.annotation)
                ):
                    yield line.target.id


def main(sources: Path) -> None:
    """Write the table."""
    found = {
        path.parts[-4]: read_fields(path.parent)
        for path in sources.glob("*/sglang/srt/server_args.py")
    }
    order = sorted(found, key=Version)
    runs: dict[str, list[list[str | None]]] = {}
    for field in sorted(set().union(*found.values())):
        present = [field in found[release] for release in order]
        for position, release in enumerate(order):
            before = position > 0 and present[position - 1]
            if present[position] and not before:
                runs.setdefault(field, []).append([release, None])
            elif before and not present[position]:
                runs[field][-1][1] = release
    lines = ",\n".join(f" {json.dumps(name)}: {json.dumps(run)}" for name, run in runs.items())
    OUTPUT.write_text(f'{{"releases": {json.dumps(order)},\n"fields": {{\n{lines}\n}}}}\n')


if __name__ == "__main__":
    main(Path(sys.argv[1]))
