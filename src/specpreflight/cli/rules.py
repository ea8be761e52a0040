"""`specpreflight rules`."""

from __future__ import annotations

import json
from collections.abc import Sequence

import click

from specpreflight.engines.registry import engine_names
from specpreflight.rules.plugins import load_plugins, rules_of
from specpreflight.rules.registry import load_rules
from specpreflight.rules.rule import Rule


@click.command()
@click.option("--format", "form", type=click.Choice(["text", "json", "markdown"]), default="text")
@click.option("--plugin", "plugins", multiple=True, metavar="NAME", help="Load more rules.")
def rules(form: str, plugins: tuple[str, ...]) -> None:
    """List all rules."""
    known = (*load_rules(), *rules_of(load_plugins(plugins)))
    if form == "json":
        data = [
            {
                "name": rule.name,
                "summary": rule.summary,
                "since": rule.since,
                "engines": list(rule.engines or engine_names()),
                "needs": list(rule.needs),
            }
            for rule in known
        ]
        click.echo(json.dumps(data, indent=2))
    elif form == "markdown":
        click.echo(rules_table(known))
    else:
        width = max(len(rule.name) for rule in known)
        for rule in known:
            click.echo(f"{rule.name:<{width}}  {rule.summary}")


def rules_table(known: Sequence[Rule]) -> str:
    """Return the rules as the Markdown table of the README."""
    rows = (f"| `{rule.name}` | {rule.summary} |" for rule in known)
    return "\n".join(("| rule | what it finds |", "|---|---|", *rows))
