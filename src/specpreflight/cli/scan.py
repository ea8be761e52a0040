"""`specpreflight scan`: find the checkpoints of a tree, pair them, and check every launch."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, closing
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from specpreflight.cli import report_error
from specpreflight.cli.check import Options, WordsCommand, worst_of
from specpreflight.cli.configured import configured, echo_idle
from specpreflight.cli.launch_options import FAIL_ON, environment_options, report_options
from specpreflight.cli.scan_options import fix_options
from specpreflight.errors import InputError

if TYPE_CHECKING:
    from specpreflight.conditions import Conditions, Surroundings
    from specpreflight.models.checkpoint import Problem
    from specpreflight.scanning import Scanned, Survey
    from specpreflight.scanning.changes import Changes
    from specpreflight.scanning.checking import Job
    from specpreflight.scanning.workers import Workers
    from specpreflight.sources.pairs_file import StatedPair


class Extent(NamedTuple):
    """What a scan covers, and by which means."""

    target: str | None = None
    pairs: Path | None = None
    latest: bool = False
    changed_since: str | None = None
    hub_cache: bool = False
    jobs: int | None = None
    no_cache: bool = False
    ray: str | None = None


@click.command(cls=WordsCommand)
@click.argument("paths", nargs=-1, metavar="PATH… [-- ENGINE ARGUMENTS]")
@click.option("--target", metavar="TARGET", help="The target of every draft that is found.")
@click.option(
    "--pairs",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Which draft is for which target: lines of TARGET DRAFT, or JSON.",
)
@click.option("--latest", is_flag=True, help="Only the newest of epoch_3/, step_100/, 4/ ….")
@click.option("--changed-since", metavar="REV", help="Only launches that a git diff touches.")
@click.option("--hub-cache", is_flag=True, help="The local cache of the Hub too.")
@click.option("--jobs", type=click.IntRange(1), metavar="N", help="Processes; one a core.")
@click.option("--no-cache", is_flag=True, help="Take no report of an earlier scan.")
@click.option("--ray", metavar="ADDRESS", help="Spread the checks over a Ray cluster.")
@report_options
@environment_options
@click.option("-v", "--verbose", is_flag=True, help="Show notes and launches without findings.")
@click.option("--online", is_flag=True, help="Download the JSON files of Hub ids not cached.")
@fix_options
@click.pass_context
@configured
def scan(
    ctx: click.Context, /, no_env: bool, fail_on: str, action: str | None, **given: Any
) -> None:
    """Check every checkpoint and every launch file under PATH.

    A draft is checked with the target that an option, its own files, a launch file or equal facts
    give it; what stands after `--` are the engine's arguments for all of them.

    \b
      specpreflight scan drafts/ --target moonshotai/Kimi-K2.5
      specpreflight scan . --format sarif --output html=report.html
      specpreflight scan . --changed-since origin/main
    """
    extent = Extent(**{name: given.pop(name) for name in Extent._fields})
    words = ctx.meta["words"]
    options = Options(
        typed=ctx.meta["typed"],
        words=None if words is None else tuple(words),
        use_process_environment=not no_env,
        fail_on=FAIL_ON.get(fail_on),
        action=action or ("fix" if given["unsafe"] else "report"),
        **given,
    )
    if options.action != "report":
        from specpreflight.cli.scan_fixing import fix_scan

        ctx.exit(fix_scan(options, extent))
    ctx.exit(run_scan(options, extent))


def run_scan(options: Options, extent: Extent) -> int:
    """Scan as the options say, write the reports as they come, and return the exit code."""
    from specpreflight.cli.scan_output import open_writers
    from specpreflight.cli.scan_progress import show_progress
    from specpreflight.models.idle import IdleWatch
    from specpreflight.reports.scan_text import Tally
    from specpreflight.scanning.survey import survey
    from specpreflight.sources.checkpoint_tree import CheckpointTree

    tally, worst = Tally(), 0
    problems: dict[Problem, None] = {}
    watch = None if options.policy is None else IdleWatch(options.policy)
    tree = CheckpointTree(roots_of(options.paths, extent), latest=extent.latest)
    plan = plan_scan(options, extent)
    with ExitStack() as stack:
        progress = stack.enter_context(show_progress())
        writers = stack.enter_context(open_writers(options))
        found = stack.enter_context(closing(survey(progress.count(tree))))
        scanned = scanned_in(found, plan, options, extent)
        for one in progress.count(scanned, most_launches(found, options)):
            worst = worst_of(worst, _rank(one, options))
            problems.update(dict.fromkeys(one.problems))
            if one.report is None:
                tally.failed.append(one.failure or "a launch could not be checked")
                continue
            tally.add(one.report)
            if one.subject is not None and one.subject.unpaired and one.subject.draft:
                tally.unpaired.append((one.subject.draft.given, one.subject.unpaired))
            if watch is not None:
                watch.see(one.report)
            for writer in writers:
                writer.add(one.report)
        if watch is not None:
            is_whole = not extent.latest and extent.changed_since is None
            tally.idle += watch.idle_in_tree() if is_whole else watch.idle()
        for writer in writers:
            writer.end(tally, found.unreadable)
    for failure in tally.broken:
        click.echo(f"specpreflight: internal error: {failure}", err=True)
    for problem in problems:
        report_error(InputError(problem.message, hint=problem.hint))
    for unreadable in found.unreadable:
        report_error(InputError(f"{unreadable.path}: {unreadable.reason}"))
    if options.form != "text":  # which has it in its last lines
        echo_idle(tally.idle)
    if not tally.launches and not tally.failed and not found.unreadable:
        click.echo("specpreflight: no checkpoint and no launch found to check", err=True)
    if found.unreadable:
        worst = worst_of(worst, InputError.exit_code)
    return worst


def most_launches(found: Survey, options: Options) -> int:
    """Return how many launches will be checked if no target is a draft's, and no file has two."""
    engines = len(options.engines or options.configured_engines) or 1
    return found.checkpoints * engines + len(found.launch_files)


def _rank(one: Scanned, options: Options) -> int:
    """Return the exit code that one launch calls for, and say on stderr what kept it from more."""
    if one.report is None:
        click.echo(f"specpreflight: internal error: {one.failure}", err=True)
        return 3
    if one.report.internal_errors:
        return 3
    if one.problems:
        return InputError.exit_code
    return int(one.report.fails(options.fail_on))


def roots_of(paths: tuple[str, ...], extent: Extent) -> tuple[str, ...]:
    """Return what is walked: the paths that are given, and the Hub's cache if it is wanted."""
    if not paths and not extent.hub_cache:
        raise click.UsageError("nothing to scan: give a PATH, or --hub-cache")
    if not extent.hub_cache:
        return paths
    from specpreflight.sources.hub_cache import cached_snapshots

    return (*paths, *map(str, cached_snapshots()))


class Plan(NamedTuple):
    """What a scan has read beside the tree: with that nothing in the options is wrong any more."""

    around: Surroundings
    conditions: list[Conditions]
    pairs: Sequence[StatedPair]
    changes: Changes | None


def plan_scan(options: Options, extent: Extent) -> Plan:
    """Read what the options name, before anything is written.

    Raises:
        UsageError: an engine, a revision or the engine's arguments cannot be understood.
        InputError: a file that they name cannot be read.
    """
    from dataclasses import replace

    from specpreflight.cli.loading import surroundings_of
    from specpreflight.scanning import common_conditions
    from specpreflight.scanning.changes import changes_since
    from specpreflight.sources.pairs_file import read_pairs

    around = replace(surroundings_of(options), folders=options.paths)
    since = extent.changed_since
    return Plan(
        around,
        common_conditions(options.words, around),
        () if extent.pairs is None else read_pairs(extent.pairs),
        None if since is None else changes_since(options.paths, since),
    )


def scanned_in(found: Survey, plan: Plan, options: Options, extent: Extent) -> Iterator[Scanned]:
    """Yield the launches of files in the tree, then those of its checkpoints."""
    from specpreflight.scanning import Runner, scan_survey
    from specpreflight.scanning.store import open_store
    from specpreflight.scanning.workers import usable_cores

    jobs = extent.jobs or usable_cores()
    runner = Runner(
        plan.conditions,
        jobs=jobs,
        policy=options.policy,
        store=None if extent.no_cache else open_store(plan.conditions),
        workers=_workers(options, extent, plan.conditions),
    )
    yield from scan_survey(
        found,
        runner,
        plan.around,
        target=extent.target,
        pairs=plan.pairs,
        changes=plan.changes,
        policy=options.policy,
        jobs=jobs,
    )


def _workers(
    options: Options, extent: Extent, conditions: Sequence[Conditions]
) -> Workers[Job] | None:
    """Return the workers that `--ray` names, `None` for those of this machine."""
    if extent.ray is None:
        return None
    from specpreflight.scanning.ray_workers import RayWorkers

    plugins = () if options.policy is None else options.policy.plugins
    return RayWorkers(extent.ray, conditions, plugins, roots_of(options.paths, extent))
