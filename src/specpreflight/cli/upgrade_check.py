"""`specpreflight upgrade-check`: what another release of the engine would make of a launch."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from specpreflight.cli.check import WordsCommand, report_problems
from specpreflight.cli.launch_options import launch_options, options_of
from specpreflight.errors import InputError, UsageError
from specpreflight.models.finding import Severity

if TYPE_CHECKING:
    from specpreflight.changes.versions import Upgrade
    from specpreflight.cli.check import Options


@click.command(cls=WordsCommand)
@click.argument("paths", nargs=-1, metavar="[TARGET [DRAFT] | FILE | LOCK] [-- COMMAND]")
@click.option("--from", "before", required=True, metavar="VERSION", help="What runs now.")
@click.option("--to", "after", required=True, metavar="VERSION|PATH", help="What shall run.")
@click.option("--format", "form", type=click.Choice(["text", "json"]), default="text")
@click.option("-v", "--verbose", is_flag=True, help="List what of the engine touches the launch.")
@launch_options
@click.pass_context
def upgrade_check(
    ctx: click.Context,
    /,
    before: str,
    after: str,
    paths: tuple[str, ...],
    form: str,
    verbose: bool,
    **given: Any,
) -> None:
    """Say what becomes of a launch with another release of its engine, and what to change.

    Exit code 1 where the new release would stop it, or make it wrong.

    \b
      specpreflight upgrade-check --from 0.5.6 --to 0.5.23 -- python -m sglang.launch_server …
      specpreflight upgrade-check --from 0.5.9 --to /src/sglang launch.sh
      specpreflight upgrade-check --from 0.5.9 --to 0.5.23 launch.lock.json
    """
    from specpreflight.reports.releases import render_upgrade, render_upgrade_json

    found = compare_for_launch(options_of(ctx, paths, given, engine=None), before, after)
    if form == "json":
        text = render_upgrade_json(found.comparison, found.to_do)
    else:
        text = render_upgrade(found.comparison, found.to_do, verbose=verbose)
    click.echo(text, nl=False)
    ctx.exit(int(found.after.fails(Severity.ERROR)))


def compare_for_launch(options: Options, before: str, after: str) -> Upgrade:
    """Return what becomes of the launch that the options name, on two versions of its engine.

    Raises:
        UsageError: the versions are of two engines, or none is known.
        InputError: a checkpoint or file cannot be read.
    """
    from specpreflight.changes.versions import compare_on_versions
    from specpreflight.cli.against import recorded_launch
    from specpreflight.cli.compare import kind_of
    from specpreflight.cli.loading import load_launches
    from specpreflight.sources.lock_file import read_lock

    if len(options.paths) == 1 and kind_of(options.paths[0]) == "lock":
        options = recorded_launch(read_lock(options.paths[0]), options)
    name = load_launches(options)[0].engine.name
    wanted = tuple(one if "@" in one or "/" in one else f"{name}@{one}" for one in (before, after))
    old, new = load_launches(options._replace(engines=wanted))[:2]
    if old.engine.name != new.engine.name:
        raise UsageError(f"{before} and {after} are two engines; a launch is of one")
    if report_problems([old, new]):
        click.get_current_context().exit(InputError.exit_code)
    return compare_on_versions(old, new)
