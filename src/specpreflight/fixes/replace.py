"""Replace a file in one step, with its old bytes in the journal."""

from __future__ import annotations

from dataclasses import replace

from specpreflight.errors import InputError
from specpreflight.fixes.failures import write_problem
from specpreflight.fixes.journal import Journal, Record
from specpreflight.fixes.place import WritePlace
from specpreflight.storage import Storage


def replace_file(
    storage: Storage, place: WritePlace, name: str, old: bytes, new: bytes, record: Record
) -> tuple[Record, tuple[str, ...]]:
    """Replace the content `old` of a file by `new`, under the lock of its checkpoint.

    In this order: the file is compared with `old`; backup and record go to the journal; `new` goes
    to a temporary file beside it; the file is compared again; the temporary file is renamed over
    it. A crash at any point leaves the old file or the new one, whole.

    Args:
        storage: what holds the checkpoint.
        place: the file and its checkpoint.
        name: what messages call it.
        old: what the file held when it was read.
        new: what it shall hold.
        record: the journal's entry, its number still open.

    Returns:
        The entry as it was recorded, and notes for the user.

    Raises:
        InputError: the file changed since it was read, or cannot be written; it is as it was.
    """
    journal = Journal(storage, place.directory)
    try:
        journal.open(place.file)
        with storage.lock(journal.folder):
            _compare(storage, place, name, old)
            record = replace(record, number=journal.next_number())
            notes = _replace(storage, journal, place, name, old, new, record)
    except OSError as error:
        raise write_problem(name, error) from None
    if place.other_names:
        notes += (f"{place.other_names} other hard links of the file keep the old content",)
    return record, notes


def _replace(
    storage: Storage,
    journal: Journal,
    place: WritePlace,
    name: str,
    old: bytes,
    new: bytes,
    record: Record,
) -> tuple[str, ...]:
    directory, _, file = place.file.rpartition("/")
    temporary = f"{directory}/.{file}.specpreflight.tmp"
    storage.remove(temporary)  # of a run that was killed: the lock says that it is not running
    try:
        journal.add(record, place.file, old)
        notes = storage.create(temporary, new, place.file)
        _compare(storage, place, name, old)
        notes += storage.rename(temporary, place.file)
    except BaseException:
        _clean_up(storage, journal, temporary, record)
        raise
    try:
        storage.sync_directory(directory)
    except OSError as error:
        notes += (f"written, but not flushed to the disk: {error.strerror or error}",)
    return notes


def _clean_up(storage: Storage, journal: Journal, temporary: str, record: Record) -> None:
    """Remove what a failed write left, as far as that is possible: the first error counts."""
    try:
        storage.remove(temporary)
        journal.discard(record)
    except OSError:  # the disk is full or gone; a later run ignores and removes the leftovers
        return


def _compare(storage: Storage, place: WritePlace, name: str, old: bytes) -> None:
    if storage.read(place.file, name) != old:
        raise InputError(
            f"{name}: not written: the file changed since it was read", hint="run it again"
        )
