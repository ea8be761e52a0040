#!/usr/bin/env python3
"""Learn releases: read wheels with `ast` and merge what they say into the data tables.

    python tools/harvest.py sglang 0.5.24            # downloads the wheel and merges it
    python tools/harvest.py sglang --from DIR 0.5.9  # DIR/0.5.9/sglang is already unpacked
    python tools/harvest.py sglang --all             # every release on PyPI since 0.4.6.post5

The transformers release that a wheel pins is read too, if the tables do not have it yet. Tables
stay sorted, and a release that changed nothing changes no line: review the diff like code.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from packaging.version import Version

from specpreflight.engines.sglang.harvest.engine import (
    TRANSFORMERS_TABLES,
    Facts,
    read_engine,
    transformers_facts,
)
from specpreflight.engines.sglang.harvest.source_tree import SourceTree
from specpreflight.engines.sglang.harvest.transformers_configs import read_transformers
from specpreflight.engines.sglang.installations import read_pins
from specpreflight.engines.sglang.knowledge import TABLES
from specpreflight.engines.sglang.tables import DATA

OLDEST = Version("0.4.6.post5")
INDEX = "https://pypi.org/simple"
_WIDEST = 118
_IN_ORDER = frozenset({"configs", "transformers"})
_ABSENT = object()


def main(arguments: Sequence[str] | None = None) -> int:
    """Harvest the releases that the command line names; return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("engine", choices=["sglang"])
    parser.add_argument("versions", nargs="*", metavar="VERSION")
    parser.add_argument("--all", action="store_true", help="every release since 0.4.6.post5")
    parser.add_argument("--from", dest="source", type=Path, help="folder of unpacked wheels")
    parser.add_argument("--data", type=Path, default=DATA, help="folder of the tables")
    parser.add_argument(
        "--transformers", type=Path, action="append", default=[], help="folder of unpacked wheels"
    )
    options = parser.parse_intermixed_args(arguments)
    versions = options.versions
    if options.all:
        versions = (
            [path.name for path in options.source.iterdir()] if options.source else on_index()
        )
    tables = Tables(options.data)
    for version in sorted(versions, key=Version):
        with unpacked("sglang", version, [options.source]) as folder:
            release = describe_release(version, folder)
            wanted = str(release["transformers"])
            with unpacked("transformers", wanted, options.transformers) as library:
                transformers = SourceTree(library / "transformers")
                facts = read_engine(SourceTree(folder / "sglang"), transformers)
                if wanted not in tables.transformers_releases:
                    tables.add_transformers(
                        wanted, transformers_facts(read_transformers(transformers))
                    )
        tables.add(version, release, facts)
        print(f"{version}: {release['date']}, transformers {wanted}", file=sys.stderr)
    tables.write()
    return 0


def describe_release(version: str, folder: Path) -> dict[str, Any]:
    """Return what `releases.json` says of a release: its date and pins."""
    metadata = folder / f"sglang-{version}.dist-info" / "METADATA"
    pins = read_pins(folder / "sglang")
    stamp = datetime.fromtimestamp(metadata.stat().st_mtime, tz=timezone.utc)
    torch = pins.get("torch")
    return {
        "date": stamp.date().isoformat(),
        "kernel": pins.get("kernel"),
        "nccl": None if torch is None else nccl_of(torch),
        "torch": torch,
        "transformers": pins.get("transformers"),
    }


class Tables:
    """The tables of a data folder, changed in memory and written at once."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        known = _load(folder / "releases.json")
        self.releases: dict[str, Any] = known.get("sglang", {})
        self.transformers_releases: list[str] = known.get("transformers", [])
        self._columns: dict[str, dict[str, dict[str, dict[str, Any]]]] = {}
        for name in TABLES:
            self._columns[name] = _expand(_load(folder / f"{name}.json"), self.order)
        for name in TRANSFORMERS_TABLES:
            self._columns[name] = _expand(
                _load(folder / f"{name}.json"), self.transformers_releases
            )

    @property
    def order(self) -> list[str]:
        """The engine's releases, oldest first."""
        return sorted(self.releases, key=Version)

    def add(self, version: str, release: dict[str, Any], facts: Facts) -> None:
        """Set everything that is known of one engine release."""
        self.releases[version] = release
        self._set(version, facts)

    def add_transformers(self, version: str, facts: Facts) -> None:
        """Set everything that is known of one transformers release."""
        self.transformers_releases = sorted({*self.transformers_releases, version}, key=Version)
        self._set(version, facts)

    def write(self) -> None:
        """Write every table."""
        self.folder.mkdir(exist_ok=True)
        for name in TABLES:
            _write(self.folder / f"{name}.json", self._columns[name], self.order)
        for name in TRANSFORMERS_TABLES:
            _write(self.folder / f"{name}.json", self._columns[name], self.transformers_releases)
        releases = {version: self.releases[version] for version in self.order}
        lines = [f"  {_dump(version)}: {_dump(about)}" for version, about in releases.items()]
        text = '{\n "sglang": {\n' + ",\n".join(lines) + "\n },\n"
        text += f' "transformers": {_dump(self.transformers_releases)}\n}}\n'
        (self.folder / "releases.json").write_text(text)

    def _set(self, version: str, facts: Facts) -> None:
        for name, entries in facts.items():
            columns = self._columns[name]
            for keys in columns.values():
                for column in keys.values():
                    column.pop(version, None)
            for entry, values in entries.items():
                for key, value in values.items():
                    columns.setdefault(entry, {}).setdefault(key, {})[version] = value


def _load(path: Path) -> dict[str, Any]:
    return dict(json.loads(path.read_bytes())) if path.is_file() else {}


def _expand(table: dict[str, Any], order: list[str]) -> dict[str, dict[str, dict[str, Any]]]:
    """Turn runs into one value per release."""
    return {
        entry: {
            key: {
                version: value
                for since, before, value in runs
                for version in order[
                    order.index(since) : None if before is None else order.index(before)
                ]
            }
            for key, runs in keys.items()
        }
        for entry, keys in table.items()
    }


def _runs(column: dict[str, Any], order: list[str]) -> list[list[Any]]:
    """Turn one value per release into runs."""
    runs: list[list[Any]] = []
    current: Any = _ABSENT
    for version in order:
        value = column.get(version, _ABSENT)
        if value is current or (_ABSENT not in (value, current) and _dump(value) == _dump(current)):
            continue
        if runs and current is not _ABSENT:
            runs[-1][1] = version
        if value is not _ABSENT:
            runs.append([version, None, value])
        current = value
    return runs


def _write(path: Path, columns: dict[str, dict[str, dict[str, Any]]], order: list[str]) -> None:
    entries = []
    for entry, keys in sorted(columns.items()):
        # Fields of config classes keep the order in which they are declared (and checked).
        ordered = keys.items() if path.stem in _IN_ORDER else sorted(keys.items())
        lines = [
            f"  {_dump(key)}: {_lay_out(runs)}"
            for key, column in ordered
            if (runs := _runs(column, order))
        ]
        if lines:
            entries.append(f" {_dump(entry)}: {{\n" + ",\n".join(lines) + "\n }")
    path.write_text("{\n" + ",\n".join(entries) + "\n}\n")


def _lay_out(runs: list[list[Any]]) -> str:
    """Write runs on one line, or one a line where they are long."""
    texts = [_dump(run) for run in runs]
    flat = f"[{','.join(texts)}]"
    if len(flat) <= _WIDEST or len(texts) == 1:
        return flat
    return "[\n   " + ",\n   ".join(texts) + "\n  ]"


def _dump(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


@contextmanager
def unpacked(project: str, version: str, folders: Iterable[Path | None]) -> Iterator[Path]:
    """Give a wheel's files: from the first folder that has them, else downloaded for the while."""
    for folder in folders:
        if folder is not None and (folder / version).is_dir():
            yield folder / version
            return
    with tempfile.TemporaryDirectory() as scratch:
        _pip("download", "--no-deps", "--dest", scratch, f"{project}=={version}")
        with zipfile.ZipFile(next(Path(scratch).glob("*.whl"))) as wheel:
            for member in wheel.infolist():
                if member.filename.endswith((".py", "METADATA")):
                    path = wheel.extract(member, scratch)
                    stamp = datetime(*member.date_time, tzinfo=timezone.utc).timestamp()
                    os.utime(path, (stamp, stamp))
        yield Path(scratch)


_NCCL: dict[str, str | None] = {}


def nccl_of(torch: str) -> str | None:
    """Return the NCCL release that a torch wheel for Linux on x86-64 requires."""
    if torch not in _NCCL:
        _NCCL[torch] = next(_nccl_requirements(torch), None)
    return _NCCL[torch]


def _nccl_requirements(torch: str) -> Iterator[str]:
    report = _pip(
        "install",
        "--dry-run",
        "--no-deps",
        "--ignore-installed",
        "--report",
        "-",
        "--target",
        tempfile.gettempdir(),
        f"torch=={torch}",
    )
    for wheel in json.loads(report)["install"]:
        for requirement in wheel["metadata"].get("requires_dist", []):
            if requirement.startswith("nvidia-nccl-"):
                yield requirement.partition("==")[2].split(";")[0].strip(" )")


def on_index() -> list[str]:
    """Return the engine's releases on PyPI that the tables are to cover."""
    listing = _pip("index", "versions", "sglang")
    line = next(line for line in listing.splitlines() if line.startswith("Available versions:"))
    versions = (text.strip() for text in line.partition(":")[2].split(","))
    return [version for version in versions if Version(version) >= OLDEST]


def _pip(*arguments: str) -> str:
    command = [sys.executable, "-m", "pip", "--isolated", "--quiet", *arguments]
    return subprocess.run(
        [*command, "--index-url", INDEX], check=True, capture_output=True, text=True
    ).stdout


if __name__ == "__main__":
    sys.exit(main())
