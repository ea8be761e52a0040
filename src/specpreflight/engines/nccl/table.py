"""The table of NCCL's variables: who reads which, from when to when, and what it is for.

`data/variables.json` is harvested from the release tags by `tools/harvest_nccl.py`;
`data/meanings.json` is written by hand.
"""

from __future__ import annotations

import json
from functools import cache
from importlib.resources import files
from typing import Any, Final, NamedTuple

from specpreflight.models.finding import Confidence
from specpreflight.models.nccl import Release, VariableFacts

#: Added after the newest release whose source was read; seen in the shipped library.
_ADDED_LATER: Final = {"NCCL_DEBUG_LEVELS": Release(2, 32, 3)}


class Span(NamedTuple):
    """How a variable is read from a release on; `reader` is empty where it is not read."""

    since: Release
    reader: str
    default: str
    file: str


def read_data(name: str) -> Any:
    """Return the parsed JSON of a file under `data/`."""
    return json.loads((files(__package__) / "data" / name).read_bytes())


@cache
def _spans() -> dict[str, list[Span]]:
    raw = read_data("variables.json")["variables"]
    return {
        name: [Span(_release(since), *rest) for since, *rest in spans]
        for name, spans in raw.items()
    }


@cache
def _meanings() -> dict[str, dict[str, str]]:
    meanings: dict[str, dict[str, str]] = read_data("meanings.json")
    return meanings


def _release(text: str) -> Release:
    major, minor, patch = text.split(".")
    return Release(int(major), int(minor), int(patch))


def find_span(name: str, release: Release) -> Span | None:
    """Return how a release reads a variable, `None` where it does not."""
    if release >= _ADDED_LATER.get(name, Release(99, 0, 0)):
        return Span(_ADDED_LATER[name], "typed", "", "")
    found = None
    for span in _spans().get(name, []):
        if span.since <= release:
            found = span
    return found if found is not None and found.reader else None


def names_at(release: Release) -> list[str]:
    """Return the names that a release reads."""
    return [name for name in (*_spans(), *_ADDED_LATER) if find_span(name, release) is not None]


def find_facts(name: str) -> VariableFacts | None:
    """Return what is known of a variable, `None` for a name nobody is known to read."""
    meaning = _meanings().get(name)
    spans = _spans().get(name, [])
    if meaning is None and not spans and name not in _ADDED_LATER:
        return None
    words = meaning or {}
    read = [span for span in spans if span.reader]
    gone = spans[-1].since if spans and not spans[-1].reader else None
    return VariableFacts(
        name=name,
        meaning=words.get("meaning", ""),
        allowed=words.get("allowed", ""),
        category=words.get("category", ""),
        since=read[0].since if read else _ADDED_LATER.get(name),
        until=gone,
        default=read[-1].default if read else "",
        agreement=words.get("agreement", "unknown"),  # type: ignore[arg-type]
        agreement_confidence=Confidence(words.get("basis", "inferred")),
        deprecated=words.get("deprecated", ""),
        source=read[-1].file if read else "",
        owner=words.get("owner", "libnccl"),
    )
