"""The facts of released versions, from the tables in `data/`."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache
from typing import Any, NamedTuple, Protocol

from specpreflight.engines.sglang.release_order import release_key
from specpreflight.engines.sglang.tables import DATA, Table


class Release(NamedTuple):
    """A released version: its date (ISO) and what its wheel pins."""

    version: str
    date: str | None = None
    torch: str | None = None
    transformers: str | None = None
    nccl: str | None = None
    kernel: str | None = None


class Source(Protocol):
    """Where the facts of one version come from: the tables, or a tree that was read."""

    def table(self, name: str) -> Mapping[str, Mapping[str, Any]]:
        """Return a table as it is in this version: entry -> key -> value."""
        ...

    def entry(self, name: str, entry: str) -> Mapping[str, Any]:
        """Return one entry of a table, empty where it is absent."""
        ...


class ReleasedFacts:
    """The facts of a release, from the tables."""

    def __init__(self, version: str) -> None:
        self.version = version

    def table(self, name: str) -> Mapping[str, Mapping[str, Any]]:
        """Return a table as it is in this release."""
        return _engine_table(name).of(self.version)

    def entry(self, name: str, entry: str) -> Mapping[str, Any]:
        """Return one entry as it is in this release."""
        return _engine_table(name).entry(entry, self.version)


@cache
def _releases_file() -> dict[str, Any]:
    return dict(json.loads((DATA / "releases.json").read_bytes()))


@cache
def releases() -> tuple[str, ...]:
    """Return the known releases, oldest first."""
    return tuple(_releases_file()["sglang"])


def release(version: str) -> Release:
    """Return what is known of a release as such; `KeyError` if it is not one of `releases()`."""
    return Release(version, **_releases_file()["sglang"][version])


@cache
def _engine_table(name: str) -> Table:
    return Table(name, releases())


@cache
def transformers_table(name: str) -> Table:
    """Return a table of transformers' releases: `transformers` or `model_types`."""
    return Table(name, _releases_file()["transformers"])


def nearest_transformers(pinned: str | None) -> tuple[str | None, bool]:
    """Return the newest known transformers that is not newer than `pinned`."""
    known: list[str] = _releases_file()["transformers"]
    if pinned in known:
        return pinned, True
    if pinned is None or not known:
        return (known[-1] if known else None), False
    older = [version for version in known if release_key(version) <= release_key(pinned)]
    return (older[-1] if older else known[0]), False
