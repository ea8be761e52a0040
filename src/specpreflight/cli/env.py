"""`specpreflight env`: the NCCL environment as NCCL reads it, shown, kept and compared."""

from __future__ import annotations

import shutil
from importlib import import_module
from typing import Any

import click

from specpreflight.cli.environment import (
    EnvironmentOptions,
    build_report,
    environment_options,
    load_environment,
    split_words,
)


class WordsCommand(click.Command):
    """A command whose words after `--` are the engine's arguments."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Take the words after the first `--` away before click parses."""
        args, words = split_words(args)
        ctx.meta["words"] = words
        return super().parse_args(ctx, args)


class LazySubcommands(click.Group):
    """A group that imports `write` and `compare` when they are called."""

    _LATER = ("write", "compare")

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the commands in their order of use."""
        return ["show", *self._LATER]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import and return a command."""
        if cmd_name in self._LATER:
            command: click.Command = getattr(
                import_module(f"specpreflight.cli.env_{cmd_name}"), cmd_name
            )
            return command
        return super().get_command(ctx, cmd_name)


@click.group(cls=LazySubcommands)
def env() -> None:
    """Show, keep and compare the NCCL environment of a launch."""


@env.command(cls=WordsCommand)
@environment_options
@click.option("--format", "form", type=click.Choice(["text", "json"]), default="text")
@click.option("-v", "--verbose", is_flag=True, help="Explain every variable.")
@click.pass_context
def show(ctx: click.Context, /, no_env: bool, form: str, verbose: bool, **given: Any) -> None:
    """Show what NCCL understands of each variable, and where it will be there again.

    FILEs are scripts, units, compose files, manifests, env files, profile files or nccl.conf.

    \b
      specpreflight env show
      specpreflight env show launch.sh --engine sglang@0.5.9
      specpreflight env show --no-env --nccl 2.27.5 --env NCCL_ALGO=tree --format json
    """
    options = EnvironmentOptions(
        use_process_environment=not no_env, words=ctx.meta["words"], **given
    )
    report = build_report(load_environment(options), options)
    if form == "json":
        from specpreflight.reports.environment import render_environment_json

        text = render_environment_json(report)
    else:
        from specpreflight.reports.environment import render_environment_text

        columns = min(shutil.get_terminal_size((100, 24)).columns, 100)
        text = render_environment_text(report, columns=columns, verbose=verbose)
    click.echo(text, nl=False)
