"""`specpreflight rules`."""

from __future__ import annotations

import json

import click

from specpreflight.engines.registry import engine_names
from specpreflight.rules.registry import load_rules


@click.command()
@click.option("--format", "form", type=click.Choice(["text", "json", "markdown"]), default="text")
def rules(form: str) -> None:
    """List all rules."""
    known = load_rules()
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
        click.echo(rules_table())
    else:
        width = max(len(rule.name) for rule in known)
        for rule in known:
            click.echo(f"{rule.name:<{width}}  {rule.summary}")


def rules_table() -> str:
    """Return the rules as the Markdown table of the README."""
    rows = (f"| `{rule.name}` | {rule.summary} |" for rule in load_rules())
    return "\n".join(("| rule | what it finds |", "|---|---|", *rows))
