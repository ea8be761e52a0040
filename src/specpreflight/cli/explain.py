"""`specpreflight explain`: a rule's page, or what becomes of a pair in every engine."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from specpreflight.errors import InputError, UsageError

if TYPE_CHECKING:
    from specpreflight.models.pair_fate import ClassName, PairFate
    from specpreflight.models.report import Report


@click.command()
@click.argument("subjects", nargs=-1, required=True, metavar="RULE | TARGET DRAFT")
@click.option(
    "--engine",
    "engines",
    multiple=True,
    metavar="NAME[@VERSION]",
    help="With a pair: compare these instead of the newest release of every engine.",
)
@click.option("--format", "form", type=click.Choice(["text", "json"]), default="text")
@click.option("--plugin", "plugins", multiple=True, metavar="NAME", help="Load more rules.")
def explain(
    subjects: tuple[str, ...], engines: tuple[str, ...], form: str, plugins: tuple[str, ...]
) -> None:
    """Print the page of a RULE, or what every engine makes of TARGET with DRAFT.

    \b
      specpreflight explain draft-context-shorter
      specpreflight explain TARGET DRAFT
      specpreflight explain TARGET DRAFT --engine sglang@0.5.11 --engine vllm@0.24.0
    """
    if len(subjects) == 1 and not Path(subjects[0]).exists():
        if engines or form != "text":
            raise UsageError("--engine and --format go with TARGET DRAFT, not with a rule")
        click.echo(_rule_page(subjects[0], plugins))
        return
    if len(subjects) != 2:
        raise UsageError(
            f"explain takes a rule, or TARGET and DRAFT; got {len(subjects)} paths",
            hint="specpreflight explain RULE, or: specpreflight explain TARGET DRAFT",
        )
    from specpreflight.reports.pair_fate import render_pair, render_pair_json

    fate = explain_pair(*subjects, engines)
    click.echo(render_pair_json(fate) if form == "json" else render_pair(fate))


def _rule_page(name: str, plugins: Sequence[str]) -> str:
    from specpreflight.rules.plugins import load_plugins, rules_of
    from specpreflight.rules.registry import find_rule, read_page

    others = rules_of(load_plugins(plugins))
    rule = find_rule(name, others)
    engines = ", ".join(rule.engines) or "every engine"
    return f"{rule.name} (since {rule.since}, {engines})\n\n{read_page(name, others)}"


def explain_pair(target: str, draft: str, engines: Sequence[str] = ()) -> PairFate:
    """Return the fate of a pair in the engines given, else in the newest release of each.

    Raises:
        InputError: a checkpoint that cannot be read.
        UsageError: an unknown engine or release.
    """
    from specpreflight.api import build_launch, check
    from specpreflight.engines.registry import engine_names
    from specpreflight.models.pair_fate import PairFate
    from specpreflight.sources.checkpoint import read_checkpoint

    checkpoints = read_checkpoint("target", target), read_checkpoint("draft", draft)
    for checkpoint in checkpoints:
        if checkpoint.problem is not None:
            raise InputError(checkpoint.problem.message, hint=checkpoint.problem.hint)
    reports = tuple(
        check(build_launch(*checkpoints, engine=engine)) for engine in engines or engine_names()
    )
    written = checkpoints[1].config.get("/architectures")
    return PairFate(target, draft, written, reports, tuple(_class_names(written, reports)))


def _class_names(written: Any, reports: Sequence[Report]) -> Iterator[ClassName]:
    """Yield the name that is written, those that engines make of it, and their counterparts."""
    from specpreflight.engines.architectures import other_names, spans_of
    from specpreflight.models.pair_fate import ClassName

    engines = dict.fromkeys(report.engine.name for report in reports)
    met = [str(name) for name in written] if isinstance(written, list) else []
    for report in reports:
        if "draft_architecture" in report.resolved:
            met.append(str(report.resolved["draft_architecture"].value))
    for name in dict.fromkeys(other for one in met for other in other_names(one)):
        releases = {engine: spans_of(engine, name) for engine in engines}
        if name in met or any(releases.values()):
            yield ClassName(name, releases)
