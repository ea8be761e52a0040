"""`specpreflight diagnose`: why a server died, or accepts nothing, from its log alone."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import click

from specpreflight.errors import InputError

if TYPE_CHECKING:
    from specpreflight.models.diagnosis import Diagnosis


@click.command()
@click.argument("log", metavar="LOG")
@click.option("--against", metavar="GOOD_LOG", help="The log of a run that worked.")
@click.option("--format", "form", type=click.Choice(["text", "json"]), default="text")
@click.pass_context
def diagnose(ctx: click.Context, log: str, against: str | None, form: str) -> None:
    """Say what became of the launch that wrote LOG, and what would have told before.

    \b
      specpreflight diagnose server.log
      docker logs sglang-1 2>&1 | specpreflight diagnose -
      specpreflight diagnose bad.log --against good.log

    LOG may be compressed with gzip, coloured, and carry the prefixes of docker, kubectl or
    journalctl. Of several launches in one file the last is judged. Exit code 1 where a fatal cause
    was found.
    """
    from specpreflight.engines.logs.compare import compare
    from specpreflight.engines.logs.remedies import remedies
    from specpreflight.reports.diagnosis_text import render_diagnosis

    found = read_diagnosis(log)
    differences = compare(found, read_diagnosis(against)) if against else None
    if form == "json":
        data = found.as_data()
        if differences is not None:
            data["differences"] = [
                {"name": one.name, "good": one.good, "bad": one.bad, "explains": one.explains}
                for one in differences
            ]
        click.echo(json.dumps(data, indent=2, default=str))
    else:
        ways_out = remedies(found.cause, found.values)
        click.echo(render_diagnosis(found, ways_out, differences), nl=False)
    if found.healthy is False:
        ctx.exit(1)


def read_diagnosis(log: str) -> Diagnosis:
    """Read a log and judge it.

    Raises:
        InputError: it is missing, unreadable, no text, or no log of a known engine.
    """
    from specpreflight.engines.logs.diagnose import diagnose as judge
    from specpreflight.sources.log_reader import read_blocks, unwrap

    found = judge(read_blocks(log), unwrap)
    if found.engine is None and found.cause is None:
        raise InputError(
            f"{log}: no line of SGLang or vLLM is in it",
            hint="give the server's own output (stdout and stderr)",
        )
    return found
