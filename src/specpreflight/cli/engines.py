"""`specpreflight engines`: the releases that are known, and what changed between them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from specpreflight.cli.check import WordsCommand
from specpreflight.cli.launch_options import launch_options, options_of
from specpreflight.engines.registry import engine_names

if TYPE_CHECKING:
    from specpreflight.engines.sglang.completeness import ReleaseSummary

_COLUMNS = ("release", "date", "transformers", "torch", "nccl", "flags", "variables", "classes")


@click.group(invoke_without_command=True)
@click.option("--format", "form", type=click.Choice(["text", "json"]), default="text")
@click.pass_context
def engines(ctx: click.Context, form: str) -> None:
    """List the engine releases that are known, with their dates and how complete they are."""
    if ctx.invoked_subcommand is not None:
        return
    known = {name: list(_summarize(name)) for name in engine_names()}
    click.echo(render_json(known) if form == "json" else render_text(known))


@engines.command(cls=WordsCommand)
@click.argument("before", metavar="NAME@VERSION")
@click.argument("after", metavar="NAME@VERSION|PATH")
@click.argument("paths", nargs=-1, metavar="[TARGET [DRAFT]] [-- ENGINE ARGUMENTS | COMMAND]")
@click.option("--format", "form", type=click.Choice(["text", "json"]), default="text")
@launch_options
@click.pass_context
def diff(
    ctx: click.Context, /, before: str, after: str, paths: tuple[str, ...], form: str, **given: Any
) -> None:
    """Say what changed between two versions of an engine, and which of it touches a launch.

    A version is a release, a checkout or a site-packages folder. Without a launch everything that
    is known is compared: behaviour, flags, defaults, variables, model classes.

    \b
      specpreflight engines diff sglang@0.4.9 sglang@0.5.9
      specpreflight engines diff sglang@0.5.9 /src/sglang -- --speculative-algorithm EAGLE3 …
    """
    from specpreflight.api import identify_engine
    from specpreflight.changes.versions import compare_versions
    from specpreflight.cli.upgrade_check import compare_for_launch
    from specpreflight.reports.changes import render_comparison_json
    from specpreflight.reports.releases import render_releases

    if paths or ctx.meta["words"]:
        options = options_of(ctx, paths, given, engine=None)
        found = compare_for_launch(options, before, after).comparison
    else:
        found = compare_versions(identify_engine(before), identify_engine(after))
    text = render_comparison_json(found) if form == "json" else render_releases(found)
    click.echo(text, nl=False)


@engines.command(cls=WordsCommand)
@click.argument("repository", type=click.Path(path_type=Path))
@click.argument("paths", nargs=-1, metavar="[TARGET [DRAFT]] -- ENGINE ARGUMENTS | COMMAND")
@click.option("--good", required=True, metavar="REV", help="A revision before the change.")
@click.option("--bad", required=True, metavar="REV", help="A revision after it.")
@click.option("--format", "form", type=click.Choice(["text", "json"]), default="text")
@launch_options
@click.pass_context
def bisect(
    ctx: click.Context,
    /,
    repository: Path,
    paths: tuple[str, ...],
    good: str,
    bad: str,
    form: str,
    **given: Any,
) -> None:
    """Find the commit of an engine's clone that changes what becomes of a launch.

    What the engine's source says at a commit is read from the repository's objects; nothing is
    checked out, and no server is started.

    \b
      specpreflight engines bisect /src/sglang --good v0.5.8 --bad main -- python -m sglang…
    """
    import sys

    from specpreflight.changes.bisect import Tried
    from specpreflight.changes.bisect import bisect as find_commit
    from specpreflight.cli.record import read_one
    from specpreflight.reports.releases import render_culprit, render_culprit_json

    def tell(tried: Tried) -> None:
        if sys.stderr.isatty():
            said = tried.report.verdict.outcome.value
            click.echo(f"{tried.commit.short} {said}: {tried.commit.subject}", err=True)

    launch = read_one(options_of(ctx, paths, given, engine=None))
    culprit = find_commit(repository, good, bad, launch, tell)
    click.echo(
        render_culprit_json(culprit) if form == "json" else render_culprit(culprit), nl=False
    )


def _summarize(engine: str) -> Iterator[ReleaseSummary]:
    module = import_module(f"specpreflight.engines.{engine}.completeness")
    summaries: Iterator[ReleaseSummary] = module.summarize()
    return summaries


def render_json(known: Mapping[str, Iterable[ReleaseSummary]]) -> str:
    """Return the releases of each engine as JSON, oldest first."""
    data = {name: [_row(summary) for summary in summaries] for name, summaries in known.items()}
    return json.dumps({"format_version": "1", "engines": data}, indent=2)


def _row(summary: ReleaseSummary) -> dict[str, Any]:
    return {
        "release": summary.release.version,
        "date": summary.release.date,
        "torch": summary.release.torch,
        "transformers": summary.release.transformers,
        "nccl": summary.release.nccl,
        "flags": summary.flags,
        "variables": summary.variables,
        "classes": summary.classes,
        "probes": summary.probes,
        "complete": not summary.unknown,
        "unknown": list(summary.unknown),
    }


def render_text(known: Mapping[str, Iterable[ReleaseSummary]]) -> str:
    """Return a table of the releases of each engine, newest first."""
    return "\n\n".join(_table(name, list(summaries)) for name, summaries in known.items())


def _table(name: str, known: list[ReleaseSummary]) -> str:
    rows: list[tuple[str, ...]] = [(*_COLUMNS, "known")]
    for summary in reversed(known):
        about = summary.release
        facts = (about.version, about.date, about.transformers, about.torch, about.nccl)
        counts = (summary.flags, summary.variables, summary.classes)
        state = f"all but {', '.join(summary.unknown)}" if summary.unknown else "complete"
        rows.append((*(str(fact or "?") for fact in facts), *map(str, counts), state))
    widths = [max(len(row[column]) for row in rows) for column in range(len(_COLUMNS))]
    lines = [
        "  ".join(
            [*(f"{cell:<{width}}" for cell, width in zip(row, widths, strict=False)), row[-1]]
        )
        for row in rows
    ]
    return "\n".join([f"{name}: {len(rows) - 1} releases", *lines])
