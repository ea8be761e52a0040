"""Reading what `env show --format json` left on several nodes: files, or a directory of them."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from specpreflight.errors import InputError, UsageError
from specpreflight.models.snapshot import KeptVariable, Snapshot
from specpreflight.sources.text_file import read_text_file

_FORMAT_VERSION: Final = "1"
_HINT: Final = "each node writes one: specpreflight env show --format json > FILE"


def read_snapshots(given: Sequence[str]) -> list[Snapshot]:
    """Return the snapshots that files and directories hold, each with a name of its own.

    Raises:
        UsageError: there are fewer than two.
        InputError: one cannot be read, or is something else.
    """
    snapshots = [read_snapshot(path) for name in given for path in _files(name)]
    if len(snapshots) < 2:
        raise UsageError(f"two snapshots are needed to compare, got {len(snapshots)}", hint=_HINT)
    return _named_apart(snapshots)


def _files(name: str) -> Iterator[Path]:
    path = Path(name)
    if not path.is_dir():
        yield path
        return
    try:
        found = sorted(path.iterdir())
    except OSError as error:
        raise InputError(f"{name}: cannot be listed ({(error.strerror or '').lower()})") from None
    yield from (one for one in found if one.is_file() and not one.name.startswith("."))


def read_snapshot(path: Path) -> Snapshot:
    """Return one snapshot, labelled with its file.

    Raises:
        InputError: it cannot be read, or is no snapshot.
    """
    text = read_text_file(path)
    if not text.strip():
        raise InputError(f"{path}: empty; the node wrote no snapshot", hint=_HINT)
    try:
        data = json.loads(text)
    except (ValueError, RecursionError) as error:
        line = getattr(error, "lineno", 1)
        raise InputError(f"{path}:{line}: not JSON", hint=_HINT) from None
    return parse_snapshot(data, str(path))


def parse_snapshot(data: Any, given: str) -> Snapshot:
    """Return a snapshot from its JSON data.

    Raises:
        InputError: it is something else, or of another version.
    """
    try:
        if data["format_version"] != _FORMAT_VERSION:
            raise InputError(
                f"{given}: format version {data['format_version']!r}, known is {_FORMAT_VERSION}"
            )
        return Snapshot(
            label=given,
            node=_text(data["node"]),
            release=_text(data["nccl"]["version"]),
            determined_by=_text(data["nccl"]["determined_by"]),
            variables={_text(one["name"]): _variable(one) for one in data["variables"]},
        )
    except (KeyError, TypeError, IndexError):
        raise InputError(f"{given}: no snapshot of an NCCL environment", hint=_HINT) from None


def _variable(data: Mapping[str, Any]) -> KeptVariable:
    written = data.get("written_by_engine")
    return KeptVariable(
        value=None if data["value"] is None else _text(data["value"]),
        understood=_text(data["understood"]),
        effect=_text(data["effect"]),
        agreement=_text(data.get("agreement", "unknown")),
        written_by_engine=None if written is None else _text(written["value"]),
    )


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError
    return value


def _named_apart(snapshots: Sequence[Snapshot]) -> list[Snapshot]:
    """Label each with its node; where nodes share a name, with the file too."""
    count = Counter(snapshot.node for snapshot in snapshots)
    named = [
        replace(one, label=one.node if count[one.node] == 1 else f"{one.node} ({one.label})")
        for one in snapshots
    ]
    return sorted(named, key=lambda one: one.label)
