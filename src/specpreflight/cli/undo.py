"""`specpreflight undo`: restore what a fix replaced."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from specpreflight.cli.hosts import each_host
from specpreflight.cli.remote import reach_hosts
from specpreflight.errors import InputError, SpecpreflightError

if TYPE_CHECKING:
    from specpreflight.storage import Storage


@click.command()
@click.argument("paths", nargs=-1, required=True, metavar="DIRECTORY…")
@click.option("--force", is_flag=True, help="Restore even a file that was edited after the fix.")
@click.option("--accept-new", is_flag=True, help="Add a host of ssh:// to known_hosts.")
@click.pass_context
def undo(ctx: click.Context, paths: tuple[str, ...], force: bool, accept_new: bool) -> None:
    """Restore the bytes that the last fix in each checkpoint DIRECTORY (or file) replaced.

    The bytes that are there now are kept in its journal too, and an earlier fix is undone by
    calling it again. `specpreflight history` lists what was done.
    """
    paths = each_host(paths)
    reach_hosts(ctx, paths, accept_new=accept_new)
    ctx.exit(run_undo(paths, force=force))


def run_undo(paths: Sequence[str], *, force: bool) -> int:
    """Undo the last fix in each checkpoint and return the worst exit code."""
    from specpreflight.cli import report_error

    worst = 0
    for path in paths:
        try:
            click.echo(undo_one(path, force=force))
        except SpecpreflightError as error:
            report_error(error)
            worst = max(worst, error.exit_code)
    return worst


def undo_one(path: str, *, force: bool) -> str:
    """Undo the last fix in one checkpoint and return the line that says so."""
    from specpreflight.fixes.undo import undo_last
    from specpreflight.storage import join_url

    storage, directory, file = find_checkpoint(path)
    fix, _ = undo_last(directory, file=file, force=force, storage=storage)
    rules = ", ".join(fix.rules)
    shown = path if file else join_url(path, fix.file)
    return f"restored {shown} as it was before the fix of {fix.time} ({rules})"


def find_checkpoint(path: str) -> tuple[Storage, str, str | None]:
    """Return what holds a checkpoint, its directory and, if a file was given, the file's name.

    Raises:
        InputError: it is not there.
    """
    from pathlib import Path

    from specpreflight.storage import LOCAL, is_remote, open_storage

    if is_remote(path):
        storage, place = open_storage(path)
        if place.endswith(".json"):
            return storage, place.rpartition("/")[0] or ".", place.rpartition("/")[2]
        return storage, place.rstrip("/") or "/", None
    if Path(path).is_dir():
        return LOCAL, path.rstrip("/") or "/", None
    if not Path(path).exists():
        raise InputError(f"{path}: no such file or directory", hint="check the path")
    return LOCAL, str(Path(path).parent), Path(path).name
