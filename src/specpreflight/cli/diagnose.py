"""`specpreflight diagnose`: why a server died, or accepts nothing, from its log alone."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Any

import click

from specpreflight.cli.hosts import path_on_host
from specpreflight.cli.remote import reach_hosts
from specpreflight.errors import InputError, UsageError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from specpreflight.models.diagnosis import Checked, Diagnosis, Difference


@click.command()
@click.argument("log", metavar="LOG")
@click.option("--against", metavar="GOOD_LOG", help="The log of a run that worked.")
@click.option("--target", metavar="PATH", help="Where the target lies here.")
@click.option("--draft", metavar="PATH", help="Where the draft lies here.")
@click.option("--follow", is_flag=True, help="Read on while LOG grows, to the end of the start.")
@click.option("--host", metavar="[USER@]HOST", help="Read LOG there.")
@click.option("--accept-new", is_flag=True, help="Add a host of ssh:// to known_hosts.")
@click.option("--format", "form", type=click.Choice(["text", "json"]), default="text")
@click.pass_context
def diagnose(
    ctx: click.Context,
    log: str,
    host: str | None,
    accept_new: bool,
    against: str | None,
    target: str | None,
    draft: str | None,
    follow: bool,
    form: str,
) -> None:
    """Say what became of the launch that wrote LOG, and what would have told before.

    \b
      specpreflight diagnose server.log
      docker logs sglang-1 2>&1 | specpreflight diagnose -
      specpreflight diagnose bad.log --against good.log
      specpreflight diagnose bad.log --target T --draft D
      specpreflight diagnose --follow server.log && run-the-benchmark

    LOG may be compressed with gzip, coloured, and carry the prefixes of docker, kubectl or
    journalctl. Of several launches in one file the last is judged. The launch is rebuilt from the
    log and checked, where its checkpoints are on this machine. With --follow a log that is still
    written is read until the server is up (exit code 0) or dead. Exit code 1 where a fatal cause
    was found.
    """
    log = log if host is None else path_on_host(log, host)
    reach_hosts(ctx, [log], accept_new=accept_new)
    if follow and log.endswith(".gz"):
        raise UsageError(f"{log}: a compressed log does not grow", hint="leave out --follow")
    found = follow_diagnosis(log) if follow else read_diagnosis(log)
    show_diagnosis(found, log, form, against=against, target=target, draft=draft)
    if found.healthy is False:
        ctx.exit(1)


def show_diagnosis(
    found: Diagnosis,
    log: str,
    form: str = "text",
    *,
    against: str | None = None,
    target: str | None = None,
    draft: str | None = None,
    to_stderr: bool = False,
) -> None:
    """Write a diagnosis with all that explains it.

    Args:
        found: the diagnosis.
        log: the log's path, for the paths it names.
        form: `text` or `json`.
        against: the log of a run that worked.
        target: where the target lies here, if not where the log says.
        draft: the same for the draft.
        to_stderr: where a command's own output goes to stdout.
    """
    from specpreflight.cli.logged_check import check_logged
    from specpreflight.engines.logs.remedies import remedies

    differences: Sequence[Difference] | None = None
    if against is not None:
        from specpreflight.engines.logs.compare import compare

        differences = compare(found, read_diagnosis(against))
    checked = check_logged(log, found, target, draft)
    if form == "json":
        text = json.dumps(_data(found, differences, checked), indent=2, default=str) + "\n"
    else:
        from specpreflight.cli.check import terminal_columns
        from specpreflight.reports.diagnosis_text import fit_lines, render_diagnosis

        ways_out = remedies(found, target=target, draft=draft)
        text = render_diagnosis(found, ways_out, differences, checked)
        if (sys.stderr if to_stderr else sys.stdout).isatty():
            text = fit_lines(text, min(terminal_columns(), 100))
    click.echo(text, nl=False, err=to_stderr)


def _data(
    found: Diagnosis, differences: Sequence[Difference] | None, checked: Checked | None
) -> dict[str, Any]:
    data = found.as_data()
    if checked is not None:
        from specpreflight.reports.json import plain_data

        data["check"] = plain_data(checked)
    if differences is not None:
        data["differences"] = [
            {
                "name": one.name,
                "good": one.good,
                "bad": one.bad,
                "explains": one.explains,
                "by_default": one.by_default,
            }
            for one in differences
        ]
    return data


def read_diagnosis(log: str) -> Diagnosis:
    """Read a log and judge it.

    Raises:
        InputError: it is missing, unreadable, no text, or no log of a known engine.
    """
    from specpreflight.engines.logs.diagnose import diagnose as judge
    from specpreflight.sources.log_reader import read_blocks, unwrap

    def tell(text: str) -> None:
        click.echo(f"specpreflight: {text}", err=True)

    return _of_an_engine(judge(read_blocks(log, tell), unwrap), log)


def follow_diagnosis(log: str) -> Diagnosis:
    """Read a log that is still written, until its server is up or dead, and judge it.

    Raises:
        InputError: it is missing, unreadable, or ends without a line of a known engine.
    """
    from specpreflight.engines.logs.watch import watch
    from specpreflight.sources.log_follower import follow_blocks
    from specpreflight.sources.log_reader import unwrap

    return _of_an_engine(watch(follow_blocks(log), unwrap), log)


def _of_an_engine(found: Diagnosis, log: str) -> Diagnosis:
    if found.engine is None and found.cause is None:
        raise InputError(
            f"{log}: no line of SGLang or vLLM is in it",
            hint="give the server's own output (stdout and stderr)",
        )
    return found
