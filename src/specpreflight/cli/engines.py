"""`specpreflight engines`: the releases whose behaviour is known."""

from __future__ import annotations

import json
from collections.abc import Iterable

import click

from specpreflight.engines.sglang.completeness import ReleaseSummary, summarize

_COLUMNS = ("release", "date", "transformers", "torch", "nccl", "flags", "variables", "classes")


@click.group(invoke_without_command=True)
@click.option("--format", "form", type=click.Choice(["text", "json"]), default="text")
@click.pass_context
def engines(ctx: click.Context, form: str) -> None:
    """List the engine releases that are known, with their dates and how complete they are."""
    if ctx.invoked_subcommand is not None:
        return
    known = list(summarize())
    click.echo(render_json(known) if form == "json" else render_text(known))


def render_json(known: Iterable[ReleaseSummary]) -> str:
    """Return the releases as JSON, oldest first."""
    rows = [
        {
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
        for summary in known
    ]
    return json.dumps({"format_version": "1", "engines": {"sglang": rows}}, indent=2)


def render_text(known: Iterable[ReleaseSummary]) -> str:
    """Return the releases as a table, newest first."""
    rows: list[tuple[str, ...]] = [(*_COLUMNS, "known")]
    for summary in reversed(list(known)):
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
    return "\n".join([f"sglang: {len(rows) - 1} releases", *lines])
