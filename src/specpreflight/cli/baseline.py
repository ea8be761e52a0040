"""`specpreflight baseline`: write down the findings that are there, so that only new ones fail."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import redirect_stdout
from dataclasses import replace
from io import StringIO
from pathlib import Path
from typing import Final, NamedTuple

import click

from specpreflight.errors import UsageError
from specpreflight.fixes.text_write import write_text_file
from specpreflight.models.baseline import Baseline, Entry, Key
from specpreflight.models.finding import Severity
from specpreflight.models.idle import IdleWatch
from specpreflight.models.policy import Policy
from specpreflight.models.report import Report
from specpreflight.models.schema import read_report
from specpreflight.reports.printable import printable
from specpreflight.sources.baseline_file import baseline_text, folder_of, read_baseline

#: The words of the other command are left to it.
_LEAVE_WORDS: Final = {"ignore_unknown_options": True, "allow_interspersed_args": False}

_WORDS: Final = click.argument(
    "words", nargs=-1, type=click.UNPROCESSED, metavar="[check|scan] …", required=True
)


class Checked(NamedTuple):
    """What a command found, and its exit code: 0 where it has nothing but findings."""

    reports: tuple[Report, ...]
    exit_code: int


@click.group()
def baseline() -> None:
    """Write down the findings that are there, so that only new ones fail.

    After FILE stands a whole `check` or `scan` with its options; without either word it is a scan.
    Errors and warnings are written down, each with its checkpoints and with how bad it is: one that
    gets worse is new again.

    \b
      specpreflight baseline create baseline.json scan drafts/ --target T
      specpreflight scan drafts/ --target T --baseline baseline.json
      specpreflight baseline prune baseline.json scan drafts/ --target T
    """


@baseline.command(context_settings=_LEAVE_WORDS)
@click.argument("file")
@_WORDS
@click.pass_context
def create(ctx: click.Context, file: str, words: tuple[str, ...]) -> None:
    """Write FILE with what is found now; it must not be there yet."""
    if Path(file).exists():
        hint = f"specpreflight baseline update {file} … adds to it and takes out what is gone"
        raise UsageError(f"{file}: is there already", hint=hint)
    known = Baseline(file, folder_of(file), {})
    checked = run_words(ctx, words)
    _write(known, found(known, checked))
    ctx.exit(checked.exit_code)


@baseline.command(context_settings=_LEAVE_WORDS)
@click.argument("file")
@_WORDS
@click.pass_context
def update(ctx: click.Context, file: str, words: tuple[str, ...]) -> None:
    """Write FILE again: with what is found now, without what is gone."""
    known = read_baseline(file)
    checked = run_words(ctx, words)
    _write(known, {**remaining(known, checked), **found(known, checked)})
    ctx.exit(checked.exit_code)


@baseline.command(context_settings=_LEAVE_WORDS)
@click.argument("file")
@_WORDS
@click.pass_context
def prune(ctx: click.Context, file: str, words: tuple[str, ...]) -> None:
    """Take out of FILE what is gone; add nothing."""
    known = read_baseline(file)
    checked = run_words(ctx, words)
    _write(known, remaining(known, checked))
    ctx.exit(checked.exit_code)


def run_words(ctx: click.Context, words: tuple[str, ...]) -> Checked:
    """Run a `check` or `scan` without its baseline; end with its exit code if it found nothing."""
    from specpreflight.cli import main

    args = list(words if words[0] in ("check", "scan") else ("scan", *words))
    end = args.index("--") if "--" in args else len(args)
    args[end:end] = ["--no-baseline", "--format", "json-lines"]
    with redirect_stdout(StringIO()) as written:
        code = main.main(args, "specpreflight", standalone_mode=False) or 0
    lines = written.getvalue().splitlines()
    if not lines and code > 1:
        ctx.exit(code)
    return Checked(tuple(map(read_report, lines)), 0 if code == 1 else code)


def found(known: Baseline, checked: Checked) -> dict[Key, Entry]:
    """Return an entry for every error and warning that nothing ignores."""
    entries: dict[Key, Entry] = {}
    for report in checked.reports:
        for key, entry in known.keys(report).items():
            if entry.severity is Severity.ERROR or (
                entry.severity is Severity.WARNING and key not in entries
            ):
                entries[key] = entry
    return entries


def remaining(known: Baseline, checked: Checked) -> dict[Key, Entry]:
    """Return the entries that are still found, and those of launches that were not checked."""
    watch = IdleWatch(Policy(baseline=known))
    for report in checked.reports:
        watch.see(report)
    gone = watch.vanished()
    return {key: entry for key, entry in known.entries.items() if key not in gone}


def _write(known: Baseline, entries: Mapping[Key, Entry]) -> None:
    path = Path(known.name)
    before = path.read_bytes() if path.exists() else None
    after = baseline_text(replace(known, entries=entries)).encode()
    write_text_file(path, known.name, before, after)
    added, gone = len(entries.keys() - known.entries), len(known.entries.keys() - entries)
    counts = f"{len(entries)} findings ({added} new, {gone} gone)"
    click.echo(f"{printable(known.name)}: {counts}", err=True)
