"""`specpreflight history`: list what was fixed in a checkpoint."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING

import click

from specpreflight.cli.hosts import each_host
from specpreflight.cli.remote import reach_hosts
from specpreflight.reports.printable import printable

if TYPE_CHECKING:
    from specpreflight.fixes.undo import Entry


@click.command()
@click.argument("path", metavar="DIRECTORY")
@click.option("--format", "form", type=click.Choice(["text", "json"]), default="text")
@click.option("--accept-new", is_flag=True, help="Add a host of ssh:// to known_hosts.")
@click.pass_context
def history(ctx: click.Context, path: str, form: str, accept_new: bool) -> None:
    """List the fixes that were written in a checkpoint DIRECTORY, oldest first."""
    from specpreflight.cli.undo import find_checkpoint
    from specpreflight.fixes.undo import read_history

    paths = each_host([path])
    reach_hosts(ctx, paths, accept_new=accept_new)
    for one in paths:
        storage, directory, _ = find_checkpoint(one)
        entries = read_history(directory, storage)
        if form == "json":
            records = [{**asdict(entry.record), "state": entry.state} for entry in entries]
            click.echo(json.dumps(records))
        else:
            click.echo(render_history(one, entries))


def render_history(name: str, entries: Sequence[Entry]) -> str:
    """Return the journal as lines: number, time, what was done, what became of it."""
    if not entries:
        return f"{name}: nothing was fixed here"
    return "\n".join(printable(line) for entry in entries for line in _lines(entry))


def _lines(entry: Entry) -> list[str]:
    record = entry.record
    if record.action == "undo":
        return [f"{record.number:4}  {record.time}  undo of {record.undoes}  [{entry.state}]"]
    lines = [f"{record.number:4}  {record.time}  {', '.join(record.rules)}  [{entry.state}]"]
    for edit in record.edits:
        before = json.dumps(edit["before"]) if "before" in edit else "no key"
        after = json.dumps(edit["after"]) if "after" in edit else "removed"
        lines.append(f"      {record.file} {edit['pointer']}: {before} -> {after}")
    return lines
