"""`specpreflight compare`: two checkpoints, launches, recorded launches or logs side by side."""

from __future__ import annotations

import json
import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import click

from specpreflight.cli.check import WordsCommand, report_problems
from specpreflight.cli.launch_options import launch_options, options_of
from specpreflight.cli.record import is_log, read_one, site_of
from specpreflight.errors import InputError, UsageError

if TYPE_CHECKING:
    from specpreflight.cli.check import Options
    from specpreflight.models.checkpoint import Checkpoint
    from specpreflight.models.comparison import Comparison
    from specpreflight.models.launch import Launch
    from specpreflight.models.lock import Lock
    from specpreflight.models.report import Report

#: Endings that no checkpoint has.
_FILES = (".sh", ".log", ".gz", ".json", ".yaml", ".yml", ".service", ".py", ".env", ".sbatch")

Kind = Literal["checkpoint", "lock", "log", "launch"]


@click.command(cls=WordsCommand)
@click.argument("a", metavar="A")
@click.argument("b", metavar="B")
@click.option("--all", "everything", is_flag=True, help="List what is the same, too.")
@click.option("--engine", metavar="NAME[@VERSION|@PATH]", help="Engine and release of launches.")
@click.option("--target", metavar="TARGET", help="Compare two drafts as launches with this target.")
@click.option("--format", "form", type=click.Choice(["text", "json"]), default="text")
@launch_options
@click.pass_context
def compare(
    ctx: click.Context,
    /,
    a: str,
    b: str,
    everything: bool,
    engine: str | None,
    target: str | None,
    form: str,
    **given: Any,
) -> None:
    """Show what differs between A and B, and which of it matters.

    A and B are two checkpoints, or two launches: scripts, manifests, logs, recorded launches
    (launch.lock.json), or commands as one word each. With --target two drafts are compared by
    what the engine makes of each.

    \b
      specpreflight compare old-draft new-draft --target TARGET
      specpreflight compare TARGET DRAFT
      specpreflight compare launch-2-steps.sh launch-3-steps.sh
      specpreflight compare good.log bad.log
      specpreflight compare launch.lock.json launch.sh
    """
    from specpreflight.reports.changes import render_comparison, render_comparison_json

    options = options_of(ctx, (a, b), given, engine=engine)._replace(paths=())
    found = _compare(a, b, options, target, everything=everything)
    click.echo(
        render_comparison_json(found) if form == "json" else render_comparison(found), nl=False
    )


def _compare(
    a: str, b: str, options: Options, target: str | None, *, everything: bool
) -> Comparison:
    kinds = (kind_of(a), kind_of(b))
    if kinds == ("checkpoint", "checkpoint"):
        if target is None:
            return _checkpoints(a, b, options, everything=everything)
        return _launches((target, a), (target, b), options, (a, b), everything=everything)
    if "checkpoint" in kinds:
        which = a if kinds[0] == "checkpoint" else b
        raise UsageError(
            f"{which} is a checkpoint, and the other is a launch",
            hint="compare two checkpoints, or two of: script, command, log, recorded launch",
        )
    if kinds == ("log", "log"):
        return _logs(a, b)
    return _launches((a,), (b,), options, (a, b), everything=everything)


def kind_of(given: str) -> Kind:
    """Return what an argument names, by looking at it.

    Raises:
        InputError: it is called like a file, and there is none.
    """
    path = Path(given)
    if path.suffix in _FILES and not path.exists():
        raise InputError(f"{given}: no such file", hint="check the path")
    if not path.is_file():
        return "launch" if len(given.split()) > 1 and not path.exists() else "checkpoint"
    if path.suffix == ".json":
        from specpreflight.sources.lock_file import is_lock

        try:
            data = json.loads(path.read_bytes())
        except (OSError, ValueError, RecursionError):
            return "checkpoint"
        return "lock" if is_lock(data) else "checkpoint"
    return "log" if is_log(given) else "launch"


def _launches(
    before: tuple[str, ...],
    after: tuple[str, ...],
    options: Options,
    names: tuple[str, str],
    *,
    everything: bool,
) -> Comparison:
    from specpreflight.changes.compare import compare_launches
    from specpreflight.changes.differences import list_same

    old, _ = read_side(before, options)
    new, launch = read_side(after, options)
    found = compare_launches(old, new, launch, names=names)
    if not everything:
        return found
    from dataclasses import replace

    return replace(found, same=tuple(list_same(old, new)))


def read_side(given: tuple[str, ...], options: Options) -> tuple[Lock, Launch]:
    """Return one of the two launches, held still, and as it can be checked again.

    A script may name checkpoints that lie on another machine: the rest of it is compared, and what
    is missing told.

    Raises:
        InputError: it cannot be read.
    """
    from specpreflight.api import check
    from specpreflight.changes.capture import capture

    if len(given) == 1 and kind_of(given[0]) == "lock":
        from specpreflight.changes.rebuild import rebuild_launch
        from specpreflight.sources.lock_file import read_lock

        lock = read_lock(given[0])
        return lock, rebuild_launch(lock)
    if len(given) == 1 and not Path(given[0]).exists():
        options = options._replace(words=tuple(shlex.split(given[0])))
    else:
        options = options._replace(paths=given)
    launch = read_one(options)
    if report_problems([launch]) and launch.facts.get("command") is None:
        click.get_current_context().exit(InputError.exit_code)
    return capture(launch, check(launch), beside=site_of(launch)), launch


def _checkpoints(a: str, b: str, options: Options, *, everything: bool) -> Comparison:
    from specpreflight.changes.checkpoints import compare_checkpoints
    from specpreflight.sources.checkpoint import read_checkpoint
    from specpreflight.sources.hub_cache import find_or_download, find_snapshot

    find = find_or_download if options.online else find_snapshot
    before = read_checkpoint("target", a, find=find)
    after = read_checkpoint("draft", b, find=find)
    for one in (before, after):
        if one.problem is not None:
            raise InputError(one.problem.message, hint=one.problem.hint)
    return compare_checkpoints(
        before, after, _report_on(before, after, options), everything=everything
    )


def _report_on(a: Checkpoint, b: Checkpoint, options: Options) -> Report | None:
    """Return the report on a launch of both, where exactly one of them is a draft."""
    from specpreflight.api import check
    from specpreflight.models.draft_format import DraftFormat, draft_format

    standalone = [draft_format(one) is DraftFormat.STANDALONE for one in (a, b)]
    if standalone[0] == standalone[1]:
        return None
    target, draft = (a, b) if standalone[0] else (b, a)
    return check(read_one(options._replace(paths=(target.given, draft.given))))


def _logs(a: str, b: str) -> Comparison:
    from specpreflight.changes.logs import compare_logs
    from specpreflight.cli.diagnose import read_diagnosis

    return compare_logs(read_diagnosis(a), read_diagnosis(b), (a, b))
