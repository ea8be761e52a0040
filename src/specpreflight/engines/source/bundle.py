"""The definitions that are shipped: one JSON file a module, each text once, with its releases.

A file is sorted JSON, `{definition: [[since, before, text], …]}`: the text holds from release
`since` up to, not including, `before` (`null`: still). A new release changes only the lines of the
functions that changed in the engine. `releases.json` lists the releases of each package in order.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from specpreflight.engines.source.modules import Definition, Module, Sources, build_module

#: Run: since, before, text.
Run = tuple[str, str | None, str]

RELEASES = "releases.json"

#: File of the model classes that transformers exports: name → `True` where they can be used by
#: other engines (`is_backend_compatible`).
MODEL_CLASSES = "transformers_model_classes"


class BundledSources:
    """Modules of one release of each package, read from a bundle as they are asked for.

    Args:
        folder: the bundle.
        versions: package → release, one of those in `releases.json`.
    """

    def __init__(self, folder: Path, versions: Mapping[str, str]) -> None:
        self._folder = folder
        self._versions = dict(versions)
        self._modules: dict[str, Module | None] = {}

    def module(self, name: str) -> Module | None:
        """Return the module with this dotted name as it is in the release of its package."""
        if name not in self._modules:
            self._modules[name] = self._read(name)
        return self._modules[name]

    def names(self, prefix: str) -> list[str]:
        """Return the names of the modules below a package."""
        return sorted(path.stem for path in self._folder.glob(f"{prefix}.*.json"))

    def model_classes(self) -> dict[str, bool]:
        """Return the model classes that transformers exports, and whether others may use them."""
        texts = _texts(self._folder, MODEL_CLASSES, "transformers", self._versions["transformers"])
        return {name: text == "True" for name, text in texts}

    def _read(self, name: str) -> Module | None:
        package = name.partition(".")[0]
        if package not in self._versions:
            return None
        texts = dict(_texts(self._folder, name, package, self._versions[package]))
        if not texts:
            return None
        is_package = texts.pop("", None) is not None
        definitions = (Definition(key, text) for key, text in texts.items())
        return build_module(name, definitions, is_package=is_package)


@cache
def _texts(folder: Path, name: str, package: str, release: str) -> tuple[tuple[str, str], ...]:
    """Return the definitions of a module as they are in a release; other launches ask again."""
    positions = _positions(folder)[package]
    at = positions[release]
    return tuple(
        (key, text)
        for key, runs in _read_table(folder / f"{name}.json").items()
        for since, before, text in runs
        if positions[since] <= at and (before is None or at < positions[before])
    )


@cache
def _positions(folder: Path) -> dict[str, dict[str, int]]:
    """Read the releases of each package in their order, once a process."""
    packages = json.loads((folder / RELEASES).read_bytes())
    return {
        package: {release: position for position, release in enumerate(releases)}
        for package, releases in packages.items()
    }


@cache
def _read_table(path: Path) -> dict[str, list[Run]]:
    """Read a module's file, once a process; one that is not there has no definitions."""
    try:
        table: dict[str, list[Run]] = json.loads(path.read_bytes())
    except FileNotFoundError:
        return {}
    return table


def nearest_release(folder: Path, package: str, wanted: str | None) -> str:
    """Return the release of a package in the bundle that is `wanted` or the newest before it."""
    known = list(_positions(folder)[package])
    if wanted is None or wanted in known:
        return wanted or known[-1]
    from packaging.version import Version

    older = [release for release in known if Version(release) <= Version(wanted)]
    return older[-1] if older else known[0]


class JoinedSources:
    """Modules from several places: package → where its modules come from."""

    def __init__(self, **places: Sources) -> None:
        self._places = places

    def module(self, name: str) -> Module | None:
        """Return the module with this dotted name from the place of its package."""
        place = self._places.get(name.partition(".")[0])
        return None if place is None else place.module(name)


def merge_runs(texts: Iterable[tuple[str, str | None]]) -> list[Run]:
    """Return the runs of one definition, given its text in each release in order."""
    runs: list[list[Any]] = []
    open_run = False
    for release, text in texts:
        if open_run and runs[-1][2] == text:
            continue
        if open_run:
            runs[-1][1] = release
        open_run = text is not None
        if open_run:
            runs.append([release, None, text])
    return [(run[0], run[1], run[2]) for run in runs]


def write_module(folder: Path, name: str, releases: Mapping[str, Mapping[str, str]]) -> None:
    """Write one module's file from its definitions in each release (release → key → text)."""
    keys = sorted({key for definitions in releases.values() for key in definitions})
    table = {
        key: merge_runs(
            (release, definitions.get(key)) for release, definitions in releases.items()
        )
        for key in keys
    }
    text = json.dumps(table, indent=0, ensure_ascii=False)
    (folder / f"{name}.json").write_text(text + "\n", encoding="utf-8")
