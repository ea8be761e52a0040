"""`specpreflight undo`: restore what a fix replaced."""

from __future__ import annotations

from collections.abc import Sequence

import click

from specpreflight.errors import InputError, SpecpreflightError


@click.command()
@click.argument("paths", nargs=-1, required=True, metavar="DIRECTORY…")
@click.option("--force", is_flag=True, help="Restore even a file that was edited after the fix.")
@click.pass_context
def undo(ctx: click.Context, paths: tuple[str, ...], force: bool) -> None:
    """Restore the bytes that the last fix in each checkpoint DIRECTORY (or file) replaced.

    The bytes that are there now are kept in its journal too, and an earlier fix is undone by
    calling it again. `specpreflight history` lists what was done.
    """
    ctx.exit(run_undo(paths, force=force))


def run_undo(paths: Sequence[str], *, force: bool) -> int:
    """Undo the last fix in each checkpoint and return the worst exit code."""
    from specpreflight.cli import report_error

    worst = 0
    for path in paths:
        try:
            click.echo(undo_one(path, force=force))
        except SpecpreflightError as error:  # noqa: PERF203
            report_error(error)
            worst = max(worst, error.exit_code)
    return worst


def undo_one(path: str, *, force: bool) -> str:
    """Undo the last fix in one checkpoint and return the line that says so."""
    from specpreflight.fixes.undo import undo_last

    directory, file = find_checkpoint(path)
    fix, _ = undo_last(directory, file=file, force=force)
    rules = ", ".join(fix.rules)
    return f"restored {directory}/{fix.file} as it was before the fix of {fix.time} ({rules})"


def find_checkpoint(path: str) -> tuple[str, str | None]:
    """Return the directory of a checkpoint and, if a file in it was given, the file's name.

    Raises:
        InputError: it is not there.
    """
    from pathlib import Path

    place = Path(path)
    if place.is_dir():
        return path.rstrip("/") or "/", None
    if not place.exists():
        raise InputError(f"{path}: no such file or directory", hint="check the path")
    return str(place.parent), place.name
