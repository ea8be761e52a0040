"""The data tables: every fact of every release, once, with the releases it holds in.

A table is sorted JSON, `{entry: {key: runs}}`. A run is `[since, before, value]`: the value holds
from release `since` up to, not including, `before` (`null`: still). A key without a run for a
release is absent there. A new release therefore changes only the lines that changed in the engine,
and one release is read without replaying others. `{"?": true}` stands for `UNKNOWN`.

Each entry begins on a line of its own at one space, so that one can be read from a large table
without parsing the rest (`Table.entry`). `tools/harvest.py` writes the tables.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

from specpreflight.engines.sglang.facts import UNKNOWN

DATA = Path(__file__).with_name("data")

Run = tuple[str, str | None, Any]
_UNKNOWN_MARK = {"?": True}


class Table:
    """One file of `data/`, read when something is asked of it."""

    def __init__(self, name: str, order: Sequence[str]) -> None:
        self.name = name
        self._positions = {release: position for position, release in enumerate(order)}
        self._bytes: bytes | None = None

    def of(self, release: str) -> dict[str, dict[str, Any]]:
        """Return every entry as it is in `release`; entries without a key there are left out."""
        position = self._positions[release]
        found = {}
        for entry, keys in self._entries.items():
            chosen = self._choose(keys, position)
            if chosen:
                found[entry] = chosen
        return found

    def entry(self, name: str, release: str) -> dict[str, Any]:
        """Return one entry as it is in `release`, empty where it is absent."""
        data = self._read()
        start = data.find(b"\n " + json.dumps(name).encode() + b": {")
        if start < 0:
            return {}
        start = data.index(b"{", start)
        end = data.index(b"\n }", start) + 3
        return self._choose(json.loads(data[start:end]), self._positions[release])

    def runs(self) -> Iterator[tuple[str, str, Run]]:
        """Yield every (entry, key, run) of the table."""
        for entry, keys in self._entries.items():
            for key, runs in keys.items():
                for run in runs:
                    yield entry, key, (run[0], run[1], run[2])

    def _choose(self, keys: Mapping[str, list[list[Any]]], position: int) -> dict[str, Any]:
        positions = self._positions
        found = {}
        for key, runs in keys.items():
            for since, before, value in runs:
                if before is not None and positions[before] <= position:
                    continue
                if positions[since] <= position:
                    found[key] = value
                break
        return found

    @cached_property
    def _entries(self) -> dict[str, dict[str, list[list[Any]]]]:
        return dict(json.loads(self._read()))

    def _read(self) -> bytes:
        if self._bytes is None:
            self._bytes = (DATA / f"{self.name}.json").read_bytes()
        return self._bytes


def to_json(value: Any) -> Any:
    """Return `value` as JSON data: tuples and sets as lists, `UNKNOWN` as its mark."""
    if value is UNKNOWN:
        return dict(_UNKNOWN_MARK)
    if isinstance(value, Mapping):
        return {str(key): to_json(inner) for key, inner in value.items()}
    if isinstance(value, frozenset | set):
        return sorted((to_json(inner) for inner in value), key=str)
    if isinstance(value, list | tuple):
        return [to_json(inner) for inner in value]
    if isinstance(value, bytes | complex) or value is Ellipsis:
        return dict(_UNKNOWN_MARK)
    return value


def from_json(value: Any) -> Any:
    """Return the value that `to_json` wrote; sequences come back as tuples."""
    if isinstance(value, dict):
        if value == _UNKNOWN_MARK:
            return UNKNOWN
        return {key: from_json(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return tuple(from_json(inner) for inner in value)
    return value
