"""`specpreflight check`: say what will stop a launch, and fix the draft."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from specpreflight.cli import report_error
from specpreflight.cli.configured import beside_of, configured, report_idle
from specpreflight.cli.hosts import load_on_hosts, urls_of
from specpreflight.cli.launch_options import FAIL_ON, launch_options, report_options
from specpreflight.cli.remote import reach_hosts
from specpreflight.errors import InputError
from specpreflight.models.finding import Severity

if TYPE_CHECKING:
    from specpreflight.cli.host_launch import OtherMachine
    from specpreflight.models.checkpoint import Problem
    from specpreflight.models.launch import EngineVersion, Launch, Variable
    from specpreflight.models.policy import Policy
    from specpreflight.models.report import Report


class WordsCommand(click.Command):
    """A command whose words after `--` are the engine's, kept apart from its own arguments."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Take the words after the first `--` away before click parses."""
        words: list[str] | None = None
        if "--" in args:
            place = args.index("--")
            args, words = args[:place], args[place + 1 :]
        ctx.meta["typed"] = tuple(args)
        ctx.meta["words"] = words
        return super().parse_args(ctx, args)


class Options(NamedTuple):
    """A `check` command line, parsed.

    `inherited` stands for the variables of this process where a command will get others;
    `every_launch` asks for all engines that a file starts.
    """

    typed: tuple[str, ...] = ()
    paths: tuple[str, ...] = ()
    words: tuple[str, ...] | None = None
    engines: tuple[str, ...] = ()
    settings: tuple[str, ...] = ()
    env_files: tuple[Path, ...] = ()
    use_process_environment: bool = True
    hardware: str | None = None
    policy: Policy | None = None
    configured_engines: tuple[EngineVersion, ...] = ()
    fail_on: Severity | None = None
    form: str = "text"
    color: str = "auto"
    verbose: bool = False
    action: str = "report"
    unsafe: bool = False
    select: tuple[str, ...] = ()
    copy_to: str | None = None
    no_fsync: bool = False
    interactive: bool = False
    launch_file: str | None = None
    hub_pr: bool = False
    hosts: tuple[str, ...] = ()
    pid: int | None = None
    machine: OtherMachine | None = None
    accept_new: bool = False
    online: bool = False
    nccl: str | None = None
    inherited: Mapping[str, Variable] | None = None
    outputs: tuple[str, ...] = ()
    against: str | None = None
    assumed: EngineVersion | None = None
    every_launch: bool = False


@click.command(cls=WordsCommand)
@click.argument("paths", nargs=-1, metavar="[TARGET [DRAFT]] [-- ENGINE ARGUMENTS | COMMAND]")
@report_options
@launch_options
@click.option(
    "--against", metavar="LOCK", help="Say what changed since a launch that `record` wrote down."
)
@click.option("-v", "--verbose", is_flag=True, help="Show notes, skipped rules, resolved values.")
@click.option("--diff", "action", flag_value="diff", help="Show what --fix would change.")
@click.option("--fix", "action", flag_value="fix", help="Write the safe edits.")
@click.option(
    "--unsafe-fixes", "unsafe", is_flag=True, help="Write (or show) the unsafe edits too."
)
@click.option(
    "--select-fix", "select", multiple=True, metavar="RULE", help="Fix only what a rule found."
)
@click.option(
    "--launch-file", metavar="FILE", help="With --fix: write flags and variables into this file."
)
@click.option("--interactive", is_flag=True, help="Ask for each fix before it is written.")
@click.option(
    "--copy-to", metavar="DIR", help="With --fix: leave the checkpoint, write a fixed copy."
)
@click.option("--no-fsync", is_flag=True, help="With --fix: do not wait for the disk.")
@click.option("--hub-pr", is_flag=True, help="With --fix: open a pull request on the Hub.")
@click.option(
    "--host", "hosts", multiple=True, metavar="[USER@]HOST", help="Read all of the launch there."
)
@click.option("--pid", type=int, help="Take the variables of a running process.")
@click.pass_context
@configured
def check(
    ctx: click.Context, /, no_env: bool, fail_on: str, action: str | None, **given: Any
) -> None:
    """Say what will stop a launch of TARGET with DRAFT, and why.

    TARGET and DRAFT are directories, config.json paths, or Hub ids in the local cache. What stands
    after `--` is the engine's arguments, or the whole command that starts it.

    \b
      specpreflight check TARGET DRAFT
      specpreflight check TARGET DRAFT --engine sglang@0.5.11 -- --speculative-algorithm EAGLE3
      specpreflight check -- python -m sglang.launch_server --model-path T …
      specpreflight check launch.sh
    """
    words = ctx.meta["words"]
    unsafe = given.pop("unsafe")
    options = Options(
        typed=ctx.meta["typed"],
        words=None if words is None else tuple(words),
        use_process_environment=not no_env,
        fail_on=FAIL_ON.get(fail_on),
        action=action or ("fix" if unsafe or given["interactive"] else "report"),
        unsafe=unsafe,
        **given,
    )
    urls = urls_of(options.paths, options.hosts)
    reach_hosts(ctx, urls, accept_new=options.accept_new)
    ctx.exit(run_check(options))


def run_check(options: Options) -> int:
    """Check as the options say, write the report to stdout and return the exit code."""
    from specpreflight.api import check as check_launch

    require_rules(options.select)
    if options.outputs:
        from specpreflight.cli.rendering import parse_output

        for output in options.outputs:
            parse_output(output)
    if options.against is not None:
        from specpreflight.cli.against import as_recorded, with_changes
        from specpreflight.sources.lock_file import read_lock

        lock = read_lock(options.against)
        options = as_recorded(options, lock, options.against)
    launches, lost = load_on_hosts(options)
    if report_problems(launches):
        lost = InputError.exit_code
    if options.form == "text" or options.action != "report":
        launches = [launch for launch in launches if not _problems(launch)]
    if not launches:
        return lost
    if options.action != "report":
        from specpreflight.cli.fixing import fix_launches

        return worst_of(lost, fix_launches(launches, options))
    reports = [check_launch(launch, policy=options.policy) for launch in launches]
    if options.against is not None:
        reports = with_changes(reports, launches, lock, options.against)
    write_reports(reports, options)
    report_idle(reports, options.policy)
    return worst_of(lost, exit_code(reports, options))


def exit_code(reports: Sequence[Report], options: Options) -> int:
    """Return 3 where a rule failed, 1 where findings reach `--fail-on`, else 0."""
    for report in reports:
        for failure in report.internal_errors:
            click.echo(f"specpreflight: internal error: {failure}", err=True)
    if any(report.internal_errors for report in reports):
        return 3
    return int(any(report.fails(options.fail_on) for report in reports))


def worst_of(*codes: int) -> int:
    """Return the exit code of several inputs: 130 and 3 over 4 over 2 over 1 over 0."""
    return min(codes, key=(130, 3, 4, 2, 1, 0).index)


def report_problems(launches: Sequence[Launch]) -> bool:
    """Write a line to stderr for each checkpoint that could not be read, and tell if any was."""
    problems = dict.fromkeys(problem for launch in launches for problem in _problems(launch))
    for problem in problems:
        report_error(InputError(problem.message, hint=problem.hint))
    return bool(problems)


def _problems(launch: Launch) -> list[Problem]:
    checkpoints = (launch.target, launch.draft)
    return [one.problem for one in checkpoints if one is not None and one.problem is not None]


def write_reports(reports: Sequence[Report], options: Options, *, to_stderr: bool = False) -> None:
    """Write one report, or several as one JSON document or one after the other."""
    beside = beside_of(reports, options.policy)
    if options.form == "text":
        text = "\n".join(_as_text(report, options) for report in reports)
    else:
        from specpreflight.cli.rendering import render

        text = render(options.form, reports, beside)
    for output in options.outputs:
        from specpreflight.cli.rendering import write_output

        write_output(output, reports, beside)
    click.echo(text, nl=False, color=True, err=to_stderr)


def _as_text(report: Report, options: Options) -> str:
    from specpreflight.reports.text import Layout, render_text

    layout = Layout(min(terminal_columns(), 100), options.verbose, _repeat(options))
    if not wants_color(options.color):
        return render_text(report, layout)
    from specpreflight.reports.terminal import render_terminal

    return render_terminal(report, layout)


def terminal_columns() -> int:
    """Return the terminal's width: COLUMNS, else what the terminal says, else 80."""
    stated = os.environ.get("COLUMNS", "")
    if stated.isdecimal() and int(stated) > 0:
        return int(stated)
    try:
        return os.get_terminal_size(sys.stdout.fileno()).columns or 80
    except (ValueError, OSError):
        return 80


def wants_color(color: str) -> bool:
    """Return whether to colour: `--color`, then NO_COLOR, FORCE_COLOR, then a terminal."""
    if color != "auto":
        return color == "always"
    if os.environ.get("NO_COLOR"):
        return False
    return bool(os.environ.get("FORCE_COLOR")) or sys.stdout.isatty()


def _repeat(options: Options) -> tuple[str, str]:
    """Return the next command line in two parts: what was typed, one step further.

    A report leads to the diff, the diff to the fix. Another option fits between the parts.
    """
    from shlex import join

    step = " --fix" if options.action == "diff" else " --diff"
    typed = [word for word in options.typed if word not in ("--diff", "--fix")]
    tail = "" if options.words is None else " -- " + join(options.words)
    return join(["specpreflight", "check", *typed]) + step, tail


def require_rules(names: Sequence[str]) -> None:
    """Refuse names that no rule has.

    Raises:
        UsageError: with the nearest name.
    """
    from specpreflight.rules.registry import require_names

    require_names(names)
