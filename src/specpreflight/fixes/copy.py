"""A fixed copy of a checkpoint that must not be edited itself: one file new, the others links."""

from __future__ import annotations

import os
from pathlib import Path

from specpreflight.errors import InputError, UsageError
from specpreflight.fixes.failures import write_problem
from specpreflight.fixes.plan import FilePlan


def copy_fixed(plan: FilePlan, directory: Path) -> Path:
    """Make `directory` a checkpoint that holds the planned file and links to all others.

    Weights are not copied: every other entry is a symbolic link to the real file, in the Hub's
    cache to the blob. The original is not touched.

    Returns:
        The new file.

    Raises:
        UsageError: the directory is there and not empty.
        InputError: it cannot be written, or the checkpoint is not on this machine.
    """
    document = plan.document
    if document.path is None:
        raise InputError(f"{document.name}: not copied: it is no local file")
    source = document.path.parent.resolve()
    try:
        directory.mkdir(parents=True, exist_ok=True)
        if any(directory.iterdir()):
            raise UsageError(f"--copy-to {directory}: is not empty", hint="name a new directory")
        for name in sorted(os.listdir(source)):  # noqa: PTH208
            if name != document.path.name and name != ".specpreflight":
                (directory / name).symlink_to((source / name).resolve())
        new = directory / document.path.name
        with new.open("xb") as file:
            file.write(plan.new_data)
    except OSError as error:
        raise write_problem(str(directory), error) from None
    return new
