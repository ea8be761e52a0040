"""`specpreflight run`: check a launch, then become its command."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from errno import ENOEXEC
from pathlib import Path
from shutil import which
from typing import Any

import click

from specpreflight.cli.check import Options, WordsCommand, report_problems, write_reports
from specpreflight.cli.configured import configured, report_idle
from specpreflight.cli.launch_options import FAIL_ON
from specpreflight.errors import InputError, UsageError
from specpreflight.models.finding import Severity
from specpreflight.models.report import Report

#: Signals that Python ignores and a command must not inherit as ignored.
_IGNORED_BY_PYTHON = ("SIGPIPE", "SIGXFSZ")


@dataclass(frozen=True, slots=True)
class _Outcome:
    """What stands against the start: the exit code without `--force`, and why in words."""

    exit_code: int
    why: str


@click.command(cls=WordsCommand)
@click.option(
    "--engine", "engines", multiple=True, metavar="NAME[@VERSION]", help="Engine and release."
)
@click.option(
    "--env", "settings", multiple=True, metavar="NAME=VALUE",
    help="Set a variable for the command, byte for byte.",
)  # fmt: skip
@click.option(
    "--env-file", "env_files", multiple=True, type=click.Path(path_type=Path),
    metavar="[docker:|dotenv:]FILE", help="Set the variables of a file for the command.",
)  # fmt: skip
@click.option("--nccl", metavar="VERSION", help="The NCCL release that will run.")
@click.option("--hardware", metavar="PROFILE|FILE|KEY=VALUE,…", help="What the GPUs are.")
@click.option(
    "--fail-on", type=click.Choice([*FAIL_ON, "never"]), default="error", show_default=True,
    help="The least severity that keeps the command from starting.",
)  # fmt: skip
@click.option("--force", is_flag=True, help="Start the command whatever is found.")
@click.option("--color", type=click.Choice(["auto", "always", "never"]), default="auto")
@click.option("-v", "--verbose", is_flag=True, help="Show notes, skipped rules, resolved values.")
@click.option("--online", is_flag=True, help="Download the JSON files of Hub ids not cached.")
@click.option("--watch", "stays", is_flag=True, help="Read the output; end at a fatal line.")
@click.option("--wait-ready", "url", metavar="URL", help="Return when the endpoint answers.")
@click.option(
    "--timeout", type=click.FloatRange(min=0, min_open=True), metavar="SECONDS",
    help="With --watch or --wait-ready: end what is not up by then.",
)  # fmt: skip
@click.option(
    "--log", type=click.Path(path_type=Path), metavar="FILE",
    help="With --wait-ready: the file for the output of what is left running.",
)  # fmt: skip
@click.pass_context
@configured
def run(
    ctx: click.Context,
    /,
    fail_on: str,
    force: bool,
    stays: bool,
    url: str | None,
    timeout: float | None,
    log: Path | None,
    **given: Any,
) -> None:
    """Check the launch after `--`; if nothing speaks against it, become its command.

    The command takes the place of this process, with exactly the variables that were checked: its
    signals, output and exit code are its own. The report goes to stderr. The exit code is 1 where
    findings stop it.

    With --watch the command is a child whose output is passed on and read: at the first fatal line
    it is ended, and the diagnosis goes to stderr (exit code 1). With --wait-ready alone it is left
    running once URL answers (exit code 0), its output in a file.

    \b
      specpreflight run -- python -m sglang.launch_server --model-path T …
      specpreflight run --env-file nccl.env --fail-on warning -- vllm serve T …
      specpreflight run --wait-ready http://127.0.0.1:30000/health --timeout 900 -- sglang serve …
    """
    words = tuple(ctx.meta["words"] or ())
    if not words:
        raise UsageError("no command given", hint="specpreflight run -- sglang serve …")
    is_watched = stays or url is not None
    if not is_watched and (timeout is not None or log is not None):
        raise UsageError("--timeout and --log need --watch or --wait-ready URL")
    from specpreflight.sources.environment import read_environment

    inherited = read_environment(os.environ, given["env_files"], given["settings"])
    os.environ.update(
        {name: known.value or "" for name, known in inherited.items() if known.value is not None}
    )
    program = _find_program(words[0])
    options = Options(
        typed=tuple(_words_of_check(ctx.meta["typed"])),
        words=words,
        fail_on=FAIL_ON.get(fail_on),
        inherited=inherited,
        **{**given, "settings": (), "env_files": ()},
    )
    outcome = _check(options, force=force)
    if outcome is not None and not force:
        ctx.exit(outcome.exit_code)
    if outcome is not None:
        click.echo(f"specpreflight: {outcome.why}; starting anyway (--force)", err=True)
    if is_watched:
        from specpreflight.cli.watching import Watching, run_watched

        ctx.exit(run_watched(program, words, Watching(stays, url, timeout, log)))
    _become(program, words)


def _words_of_check(typed: Sequence[str]) -> Iterator[str]:
    """Yield the options that `check` has too: the report says how to go on with it."""
    words = iter(typed)
    for word in words:
        name, equals, _ = word.partition("=")
        if name in ("--wait-ready", "--timeout", "--log"):
            if not equals:
                next(words, None)
        elif name not in ("--force", "--watch"):
            yield word


def _find_program(name: str) -> str:
    program = which(name)
    if program is None:
        raise InputError(f"{name}: no such command, or it may not be executed")
    return program


def _check(options: Options, *, force: bool) -> _Outcome | None:
    """Check and report to stderr; return what speaks against the start, `None` if nothing does."""
    from specpreflight.api import check
    from specpreflight.cli.loading import load_launches

    try:
        launches = load_launches(options)
    except InputError as error:
        if not force:
            raise
        return _Outcome(error.exit_code, error.message)
    unreadable = report_problems(launches)
    reports = [check(launch, policy=options.policy) for launch in launches]
    for report in reports:
        for failure in report.internal_errors:
            click.echo(f"specpreflight: internal error: {failure}", err=True)
    shown = [report for report in reports if options.verbose or report.fails(Severity.WARNING)]
    if shown and not unreadable:
        write_reports(shown, options, to_stderr=True)
    report_idle(reports, options.policy)
    if unreadable:
        return _Outcome(InputError.exit_code, "a checkpoint could not be read")
    if any(report.fails(options.fail_on) for report in reports):
        return _Outcome(1, _count(reports))
    return None


def _count(reports: Sequence[Report]) -> str:
    errors = sum(report.summary.errors for report in reports)
    warnings = sum(report.summary.warnings for report in reports)
    parts = [
        f"{count} {word}{'' if count == 1 else 's'}"
        for count, word in ((errors, "error"), (warnings, "warning"))
        if count
    ]
    return ", ".join(parts) or "notes"


def _become(program: str, words: Sequence[str]) -> None:
    """Replace this process; nothing after this line runs.

    Raises:
        InputError: the system cannot start the program.
    """
    sys.stdout.flush()
    sys.stderr.flush()
    for name in _IGNORED_BY_PYTHON:
        if hasattr(signal, name):
            signal.signal(getattr(signal, name), signal.SIG_DFL)
    try:
        os.execve(program, list(words), os.environ)
    except OSError as error:
        hint = "a script without #! is started with: sh SCRIPT" if error.errno == ENOEXEC else None
        raise InputError(
            f"{program}: {(error.strerror or str(error)).lower()}", hint=hint
        ) from None
