"""`specpreflight record`: write down a launch that works, to compare others with."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from specpreflight.cli.check import WordsCommand, report_problems
from specpreflight.cli.launch_options import launch_options, options_of
from specpreflight.errors import InputError, UsageError
from specpreflight.reports.printable import printable

if TYPE_CHECKING:
    from specpreflight.cli.check import Options
    from specpreflight.models.launch import Launch
    from specpreflight.models.lock import Lock

#: Endings of logs; what has another is taken for a launch file.
_LOGS = (".log", ".gz", ".out", ".err")


@click.command(cls=WordsCommand)
@click.argument("paths", nargs=-1, metavar="[TARGET [DRAFT] | FILE | LOG] [-- COMMAND]")
@click.option("--pid", type=int, help="Record the launch of a running server.")
@click.option("--engine", metavar="NAME[@VERSION|@PATH]", help="Engine and release.")
@click.option(
    "--output", "output", default="launch.lock.json", show_default=True, metavar="FILE",
    help="Where to write; `-` is the standard output.",
)  # fmt: skip
@launch_options
@click.pass_context
def record(
    ctx: click.Context,
    /,
    paths: tuple[str, ...],
    pid: int | None,
    engine: str | None,
    output: str,
    **given: Any,
) -> None:
    """Write down everything that a launch is made of, once it works.

    The file holds the engine's release and a hash of its code, the flags, the variables that count,
    the configs, hashes of the checkpoints' files and of their weights' headers, the versions of
    the libraries, and the report. Tokens, keys and passwords are left out. Nothing is started.

    \b
      specpreflight record -- python -m sglang.launch_server --model-path T …
      specpreflight record launch.sh --output good.lock.json
      specpreflight record --pid 4711
      specpreflight record server.log
      specpreflight check launch.sh --against launch.lock.json
    """
    from specpreflight.api import check
    from specpreflight.changes.capture import capture
    from specpreflight.reports.lock import render_lock

    options = options_of(ctx, paths, given, engine=engine)
    launch = read_one(options, pid)
    if report_problems([launch]):
        if paths and is_log(paths[0]):
            click.echo("  here they lie elsewhere? specpreflight record LOG TARGET DRAFT", err=True)
        ctx.exit(InputError.exit_code)
    report = check(launch)
    lock = capture(launch, report, beside=site_of(launch))
    text = render_lock(lock)
    if output == "-":
        click.echo(text, nl=False)
        return
    try:
        Path(output).write_text(text, encoding="utf-8")
    except OSError as error:
        raise InputError(f"{output}: cannot be written: {error.strerror}") from None
    click.echo(printable(f"wrote {output}: {_describe(lock)}"))
    if report.summary.errors:
        summary = printable(report.verdict.summary)
        click.echo(f"note: by its report this launch does not work: {summary}")


def read_one(options: Options, pid: int | None = None) -> Launch:
    """Return the launch that a command line, a file, a log or a process is.

    Raises:
        UsageError: it names none, or several.
        InputError: it cannot be read.
    """
    from specpreflight.cli.loading import load_launches

    if pid is not None:
        from specpreflight.cli.observed_launch import launch_of_process

        if options.words:
            raise UsageError("--pid names the launch; give no command beside it")
        return launch_of_process(pid, options)
    if options.paths and not options.words and is_log(options.paths[0]):
        from specpreflight.cli.diagnose import read_diagnosis
        from specpreflight.cli.observed_launch import launch_of_log

        log, *checkpoints = options.paths
        diagnosis = read_diagnosis(log)
        if diagnosis.healthy is False:
            click.echo(f"note: the launch of {log} died ({diagnosis.cause})", err=True)
        return launch_of_log(log, diagnosis, options._replace(paths=tuple(checkpoints)))
    return load_launches(options)[0]


def is_log(path: str) -> bool:
    """Return whether a path is a log by its ending."""
    return Path(path).suffix in _LOGS and Path(path).is_file()


def site_of(launch: Launch) -> Path | None:
    """Return the folder that the launch's engine is imported from, `None` where it is unknown."""
    from specpreflight.sources.libraries import find_site

    if launch.engine.path is not None:
        package = Path(launch.engine.path)
        return package.parent if package.name == launch.engine.name else package
    command = launch.facts.get("command")
    if command is None or command.image is not None:
        return None
    return find_site(launch.engine.name, command.interpreter)


def _describe(lock: Lock) -> str:
    files = sum(len(one.files) for one in (lock.target, lock.draft) if one is not None)
    engine = lock.report.engine
    variables = len(lock.report.inputs.environment)
    return (
        f"{engine.name} {engine.version}, {len(lock.report.inputs.flags)} flags, "
        f"{variables} variables, {files} files"
    )
