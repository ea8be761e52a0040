"""`specpreflight scan`: find the checkpoints of a tree, pair them, and check every launch."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from specpreflight.cli.check import FAIL_ON, FORMATS, Options, WordsCommand
from specpreflight.cli.configured import configured, report_idle
from specpreflight.errors import InputError

if TYPE_CHECKING:
    from specpreflight.models.launch import Launch
    from specpreflight.models.report import Report
    from specpreflight.scanning.subjects import Subject
    from specpreflight.scanning.survey import Survey


@click.command(cls=WordsCommand)
@click.argument("paths", nargs=-1, required=True, metavar="PATH… [-- ENGINE ARGUMENTS]")
@click.option("--target", metavar="TARGET", help="The target of every draft that is found.")
@click.option(
    "--pairs",
    "pairs_file",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Which draft is for which target: lines of TARGET DRAFT, or JSON.",
)
@click.option("--latest", is_flag=True, help="Check only the newest of epoch_3/, step_100/, 4/ ….")
@click.option(
    "--engine", "engines", multiple=True, metavar="NAME[@VERSION|@PATH]", help="Engine and release."
)
@click.option("--env", "settings", multiple=True, metavar="NAME=VALUE", help="Set a variable.")
@click.option(
    "--env-file", "env_files", multiple=True, type=click.Path(path_type=Path), metavar="FILE"
)
@click.option("--no-env", is_flag=True, help="Leave the variables of this process out.")
@click.option("--nccl", metavar="VERSION", help="The NCCL release that will run.")
@click.option("--hardware", metavar="PROFILE|FILE|KEY=VALUE,…", help="What the GPUs are.")
@click.option(
    "--fail-on",
    type=click.Choice([*FAIL_ON, "never"]),
    default="error",
    show_default=True,
    help="The least severity that exits with 1.",
)
@click.option("--format", "form", type=click.Choice(FORMATS), default="text")
@click.option("--output", "outputs", multiple=True, metavar="FORMAT=FILE")
@click.option("--color", type=click.Choice(["auto", "always", "never"]), default="auto")
@click.option("-v", "--verbose", is_flag=True, help="Show notes and launches without findings.")
@click.pass_context
@configured
def scan(
    ctx: click.Context,
    /,
    target: str | None,
    pairs_file: Path | None,
    latest: bool,
    no_env: bool,
    fail_on: str,
    **given: Any,
) -> None:
    """Check every checkpoint and launch file under PATH.

    \b
      specpreflight scan drafts/ --target moonshotai/Kimi-K2.5
      specpreflight scan . --format sarif --output html=report.html
    """
    words = ctx.meta["words"]
    options = Options(
        typed=ctx.meta["typed"],
        words=None if words is None else tuple(words),
        use_process_environment=not no_env,
        fail_on=FAIL_ON.get(fail_on),
        **given,
    )
    ctx.exit(run_scan(options, target, pairs_file, latest=latest))


def run_scan(options: Options, target: str | None, pairs_file: Path | None, *, latest: bool) -> int:
    """Scan as the options say, write the reports and return the exit code."""
    from specpreflight.api import check as check_launch
    from specpreflight.cli.rendering import parse_output
    from specpreflight.reports.scan_text import Tally
    from specpreflight.scanning.survey import survey
    from specpreflight.sources.checkpoint_tree import CheckpointTree

    for output in options.outputs:
        parse_output(output)
    found = survey(CheckpointTree(options.paths, latest=latest))
    for unreadable in found.unreadable:
        click.echo(f"specpreflight: {unreadable.path}: {unreadable.reason}", err=True)
    tally = Tally()
    reports: list[Report] = []
    unreadable_inputs = bool(found.unreadable)
    for subject, launch in _launches(found, options, target, pairs_file):
        report = check_launch(launch, policy=options.policy)
        tally.add(report)
        if subject is not None and subject.unpaired and subject.draft:
            tally.unpaired.append((subject.draft, subject.unpaired))
        for checkpoint in (launch.target, launch.draft):
            if checkpoint is not None and checkpoint.problem is not None:
                unreadable_inputs = True
        reports.append(report)
    _write(reports, tally, options)
    report_idle(reports, options.policy)
    if any(report.internal_errors for report in reports):
        return 3
    if unreadable_inputs:
        return InputError.exit_code
    return int(any(report.fails(options.fail_on) for report in reports))


def _launches(
    found: Survey, options: Options, target: str | None, pairs_file: Path | None
) -> Iterator[tuple[Subject | None, Launch]]:
    """Yield the launches of the files in the tree, then those of the pairs."""
    from specpreflight.cli.loading import load_launches
    from specpreflight.scanning.subjects import subjects
    from specpreflight.sources.pairs_file import read_pairs

    launched: set[str] = set()
    for path in found.launch_files:
        try:
            launches = load_launches(options._replace(paths=(path,), words=None, every_launch=True))
        except InputError:
            continue
        for launch in launches:
            for checkpoint in (launch.target, launch.draft):
                if checkpoint is not None and checkpoint.directory is not None:
                    launched.add(str(checkpoint.directory.resolve()))
            yield None, launch
    pairs = read_pairs(pairs_file) if pairs_file is not None else ()
    for subject in subjects(found, target=target, pairs=pairs, launched=launched):
        if subject.target is None and subject.draft is not None:
            yield from ((subject, launch) for launch in _alone(subject.draft, options))
            continue
        paths = tuple(path for path in (subject.target, subject.draft) if path is not None)
        for launch in load_launches(options._replace(paths=paths)):
            yield subject, launch


def _alone(draft: str, options: Options) -> Sequence[Launch]:
    """Return launches of a draft whose target is not known: flags name one, nothing is read."""
    from dataclasses import replace

    from specpreflight.cli.loading import load_launches

    launches = load_launches(options._replace(paths=("(unknown target)", draft)))
    return [replace(launch, target=None, target_path=None) for launch in launches]


def _write(reports: Sequence[Report], tally: Any, options: Options) -> None:
    from specpreflight.cli.rendering import render, write_output
    from specpreflight.reports.scan_text import lay_out_launch, lay_out_totals

    for output in options.outputs:
        write_output(output, reports)
    if options.form != "text":
        click.echo(render(options.form, reports) if reports else "", nl=False)
        return
    for report in reports:
        for line in lay_out_launch(report, verbose=options.verbose):
            click.echo("".join(piece.text for piece in line))
    for line in lay_out_totals(tally):
        click.echo("".join(piece.text for piece in line))
