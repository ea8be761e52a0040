"""Write planned fixes, one file after the other; one that cannot be written stops no other."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from specpreflight.errors import InputError
from specpreflight.fixes.interrupt import delayed_interrupt
from specpreflight.fixes.journal import Record, digest
from specpreflight.fixes.place import WritePlace, find_write_place
from specpreflight.fixes.plan import FilePlan, edits_as_json
from specpreflight.fixes.replace import replace_file
from specpreflight.models.finding import Edit
from specpreflight.storage import LOCAL, Storage, UnsyncedStorage, is_remote, open_storage


@dataclass(frozen=True, slots=True)
class Applied:
    """A file that was written.

    Attributes:
        name: the file as the user wrote it.
        rules: the rules whose remedies were applied.
        record: the entry in the journal, by which `undo` takes it back.
        notes: what the user should know: an owner that could not be kept, other hard links.
    """

    name: str
    rules: tuple[str, ...]
    record: Record
    notes: tuple[str, ...] = ()


class FixesIncomplete(InputError):
    """Some files could not be written; the others were.

    Attributes:
        applied: the files that were written.
        failures: one error for each that was not.
    """

    def __init__(self, applied: Sequence[Applied], failures: Sequence[InputError]) -> None:
        first = failures[0]
        total = len(applied) + len(failures)
        more = "" if total == 1 else f" ({len(failures)} of {total} files were not written)"
        super().__init__(first.message + more, hint=first.hint)
        self.applied = tuple(applied)
        self.failures = tuple(failures)


class FixesInterrupted(KeyboardInterrupt):
    """Ctrl-C between two files.

    `applied` were written whole, `untouched` not at all; `failures` are the errors of those that
    could not be written before it came.
    """

    def __init__(
        self,
        applied: Sequence[Applied],
        untouched: Sequence[str],
        failures: Sequence[InputError] = (),
    ) -> None:
        super().__init__()
        self.applied = tuple(applied)
        self.untouched = tuple(untouched)
        self.failures = tuple(failures)


def apply_plans(
    plans: Sequence[FilePlan],
    *,
    sync: bool = True,
    progress: Callable[[Applied], None] | None = None,
) -> tuple[Applied, ...]:
    """Write the plans to their files, here or over SSH, and return what was written.

    Args:
        plans: one for each file.
        sync: flush every file to the disk before it counts as written; without it a power cut may
            lose fixes that were reported, but a crash of the process may not.
        progress: called after each file that was written.

    Raises:
        FixesIncomplete: files that could not be written, after all have been tried.
        FixesInterrupted: Ctrl-C; the file that was being written is finished first.
    """
    local = LOCAL if sync else UnsyncedStorage()
    applied: list[Applied] = []
    failures: list[InputError] = []
    with delayed_interrupt() as was_interrupted:
        for plan in plans:
            if was_interrupted():
                break
            try:
                applied.append(_apply_one(plan, local))
            except InputError as error:
                failures.append(error)
            else:
                if progress is not None:
                    progress(applied[-1])
    done = len(applied) + len(failures)
    if done < len(plans):
        raise FixesInterrupted(applied, [plan.document.name for plan in plans[done:]], failures)
    if failures:
        raise FixesIncomplete(applied, failures)
    return tuple(applied)


def _apply_one(plan: FilePlan, local: Storage) -> Applied:
    document = plan.document
    if is_remote(document.name):
        storage, path = open_storage(document.name)
        if storage.why_read_only is not None:
            raise InputError(
                f"{document.name}: not written: {storage.why_read_only}",
                hint="apply the diff of --diff by hand",
            )
    elif document.path is not None:
        storage, path = local, str(document.path)
    else:
        raise InputError(f"{document.name}: not written: it is no local file")
    return apply_plan(plan, find_write_place(storage, path, document.name), storage)


def apply_plan(plan: FilePlan, place: WritePlace, storage: Storage) -> Applied:
    """Write one plan to its place in a storage.

    Raises:
        InputError: the file changed since it was read, or cannot be written; it is as it was.
    """
    document = plan.document
    written = apply_change(
        place, document.name, document.data, plan.new_data, plan.rules, plan.edits, storage
    )
    return replace(written, notes=plan.notes + written.notes)


def apply_change(
    place: WritePlace,
    name: str,
    before: bytes,
    after: bytes,
    rules: Sequence[str],
    edits: Sequence[Edit] = (),
    storage: Storage = LOCAL,
) -> Applied:
    """Write one file, of whatever format, with its old bytes in the journal beside it.

    Raises:
        InputError: the file does not hold `before`, or cannot be written; it is as it was.
    """
    wanted = Record(
        number=0,
        action="fix",
        file=place.name,
        before=digest(before),
        after=digest(after),
        rules=tuple(rules),
        edits=tuple(edits_as_json(edits)),
    )
    record, notes = replace_file(storage, place, name, before, after, wanted)
    return Applied(name, tuple(rules), record, notes)
