"""The journal of a checkpoint: what was fixed in it, and the bytes that were there before.

It lives in the folder `.specpreflight` of the checkpoint. For every change there is a backup
`0001-config.json` and a record `0001.json` with the hashes of the file before and after. Both are
on the disk before the file itself is touched, so whether a change took place is told by comparing
hashes: a record whose `before` is the file's hash was never carried out.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, fields, replace
from datetime import datetime, timezone
from typing import Any, Literal

from specpreflight import __version__
from specpreflight.storage import Storage

FOLDER = ".specpreflight"

#: What became of a record: `applied`, `undone`, `not written` (interrupted before the rename),
#: `edited since` (the file is neither what the change found nor what it left).
State = Literal["applied", "undone", "not written", "edited since"]

_NUMBERED = re.compile(r"(\d{4,})[-.]")


@dataclass(frozen=True, slots=True)
class Record:
    """One change of one file.

    `before` and `after` are SHA-256 in hexadecimal; `time` is UTC in ISO 8601; `undoes` is the
    number of the record that an `undo` took back.
    """

    number: int
    action: Literal["fix", "undo"]
    file: str
    before: str
    after: str
    rules: tuple[str, ...] = ()
    edits: tuple[Mapping[str, Any], ...] = ()
    undoes: int | None = None
    time: str = field(
        default_factory=lambda: datetime.now(timezone.utc).isoformat(timespec="seconds")
    )
    specpreflight: str = __version__

    @property
    def backup(self) -> str:
        """The name of the backup in the journal's folder."""
        return f"{self.number:04}-{self.file}"


class Journal:
    """The journal of the checkpoint in one directory."""

    def __init__(self, storage: Storage, directory: str) -> None:
        self._storage = storage
        self._directory = directory
        self.folder = f"{directory}/{FOLDER}"

    def open(self, like: str) -> None:
        """Make the folder, and tell Git to leave it alone where there is a Git."""
        self._storage.make_directory(self.folder)
        if not self._storage.may_be_in_git(self._directory):
            return
        path = f"{self.folder}/.gitignore"
        try:
            self._storage.status(path)
        except FileNotFoundError:
            with suppress(FileExistsError):  # another run was faster
                self._storage.create(path, b"*\n", like)

    def next_number(self) -> int:
        """Return the number of the next record."""
        numbers = (_NUMBERED.match(name) for name in self._storage.names(self.folder))
        return max((int(found[1]) for found in numbers if found), default=0) + 1

    def add(self, record: Record, path: str, original: bytes) -> None:
        """Keep the bytes of the file at `path` and the record of what is about to be done to it."""
        self._storage.back_up(path, f"{self.folder}/{record.backup}", original)
        values = {one.name: getattr(record, one.name) for one in fields(record)}
        text = json.dumps(values, ensure_ascii=False) + "\n"
        self._storage.create(self._path(record), text.encode(), path)
        self._storage.sync_directory(self.folder)

    def discard(self, record: Record) -> None:
        """Forget a record whose change did not take place."""
        self._storage.remove(self._path(record))
        self._storage.remove(f"{self.folder}/{record.backup}")

    def original(self, record: Record) -> bytes:
        """Return the bytes that were there before a change."""
        path = f"{self.folder}/{record.backup}"
        return self._storage.read(path, path)

    def records(self) -> tuple[Record, ...]:
        """Return the records, oldest first; one that was cut off by a crash changed nothing."""
        paths = (
            f"{self.folder}/{name}"
            for name in self._storage.names(self.folder)
            if re.fullmatch(r"\d{4,}\.json", name)
        )
        read = (_parse(self._storage.read(path, path)) for path in paths)
        return tuple(sorted((one for one in read if one), key=lambda one: one.number))

    def _path(self, record: Record) -> str:
        return f"{self.folder}/{record.number:04}.json"


def states(records: Sequence[Record], current: str) -> dict[int, State]:
    """Return what became of each record of one file whose hash now is `current`."""
    found: dict[int, State] = {}
    expected = current
    for record in reversed(records):
        if record.after == expected:
            found[record.number] = "applied"
        elif record.before == expected:
            found[record.number] = "not written"
            continue
        else:
            found[record.number] = "edited since"
        expected = record.before
    for record in records:
        if record.undoes is not None and found[record.number] != "not written":
            found[record.undoes] = "undone"
    return found


def digest(data: bytes) -> str:
    """Return the hash by which the journal knows a file's content."""
    return hashlib.sha256(data).hexdigest()


def _parse(data: bytes) -> Record | None:
    """Return a record, or `None` for one that is cut off or not ours.

    The file name is taken only if it is a bare name: a journal may come with a checkpoint from
    anywhere, and must not lead out of its directory.
    """
    try:
        raw = json.loads(data)
        record = replace(
            Record(**raw), rules=tuple(raw.get("rules", ())), edits=tuple(raw.get("edits", ()))
        )
    except (ValueError, TypeError, AttributeError):
        return None
    is_bare = isinstance(record.file, str) and "/" not in record.file
    is_bare = is_bare and record.file not in {"", ".", ".."}
    return record if is_bare and isinstance(record.number, int) else None
