"""Take fixes back, and tell what was done in a checkpoint."""

from __future__ import annotations

from dataclasses import dataclass

from specpreflight.errors import InputError, UsageError
from specpreflight.fixes.journal import Journal, Record, State, digest, states
from specpreflight.fixes.place import find_write_place
from specpreflight.fixes.replace import replace_file
from specpreflight.storage import LOCAL, Storage


@dataclass(frozen=True, slots=True)
class Entry:
    """A record of the journal, and what became of it."""

    record: Record
    state: State


def read_history(directory: str, storage: Storage = LOCAL) -> tuple[Entry, ...]:
    """Return what was done to the files of a checkpoint, oldest first; nothing is no error.

    Args:
        directory: the checkpoint's directory, or a file in it.
        storage: what holds it.
    """
    records = Journal(storage, directory).records()
    found: dict[int, State] = {}
    for file in {record.file for record in records}:
        try:
            path = f"{directory}/{file}"
            current = digest(storage.read(path, path))
        except InputError:
            current = ""  # the file is gone: no record's hash
        found |= states([record for record in records if record.file == file], current)
    return tuple(Entry(record, found[record.number]) for record in records)


def undo_last(
    directory: str, *, file: str | None = None, force: bool = False, storage: Storage = LOCAL
) -> tuple[Record, Record]:
    """Restore the bytes that the last fix in a checkpoint replaced.

    The bytes that are there now are kept in the journal as well.

    Args:
        directory: the checkpoint's directory.
        file: the file in it whose last fix is meant; the last of all if not given.
        force: restore even though the file was edited after the fix.
        storage: what holds it.

    Returns:
        The fix that was undone and the record of the undoing.

    Raises:
        UsageError: there is nothing to undo, or the file was edited since.
        InputError: the file or its backup cannot be read or written.
    """
    entry = next(
        (
            entry
            for entry in reversed(read_history(directory, storage))
            if entry.record.action == "fix"
            and entry.state in {"applied", "edited since"}
            and file in {None, entry.record.file}
        ),
        None,
    )
    if entry is None:
        raise UsageError(
            f"{directory}: nothing to undo", hint=f"see specpreflight history {directory}"
        )
    fix = entry.record
    name = f"{directory}/{fix.file}"
    if entry.state == "edited since" and not force:
        raise UsageError(
            f"{name}: was edited after the fix of {fix.time}",
            hint="--force restores the bytes from before the fix; the edited ones are kept",
        )
    place = find_write_place(storage, name, name)
    current = storage.read(place.file, name)
    original = Journal(storage, place.directory).original(fix)
    if digest(original) != fix.before:
        raise InputError(f"{name}: the backup of fix {fix.number} is damaged, nothing is restored")
    record = Record(
        number=0,
        action="undo",
        file=fix.file,
        before=digest(current),
        after=fix.before,
        undoes=fix.number,
    )
    written, _ = replace_file(storage, place, name, current, original, record)
    return fix, written
