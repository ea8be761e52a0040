"""The options that several commands have: what a launch is made of, and how the answer comes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from specpreflight.cli.remote import reach_hosts
from specpreflight.models.finding import Severity

if TYPE_CHECKING:
    from specpreflight.cli.check import Options

#: What `--format` takes; all but text are written by `cli/rendering.py`.
FORMATS = ("text", "json", "json-lines", "sarif", "junit", "github", "gitlab", "markdown", "html")

FAIL_ON = {"error": Severity.ERROR, "warning": Severity.WARNING, "note": Severity.NOTE}


def _adding(
    *options: Callable[[Callable[..., Any]], Callable[..., Any]],
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Return a decorator that gives a command these options, in their order."""

    def add(command: Callable[..., Any]) -> Callable[..., Any]:
        for option in reversed(options):
            command = option(command)
        return command

    return add


#: What the launch has around it.
environment_options = _adding(
    click.option(
        "--env", "settings", multiple=True, metavar="NAME=VALUE",
        help="Set a variable for the launch, byte for byte.",
    ),
    click.option(
        "--env-file", "env_files", multiple=True, type=click.Path(path_type=Path),
        metavar="[docker:|dotenv:]FILE",
        help="Read variables from a file; as dotenv if not said otherwise.",
    ),
    click.option("--no-env", is_flag=True, help="Leave the variables of this process out."),
    click.option("--nccl", metavar="VERSION", help="The NCCL release that will run."),
    click.option("--hardware", metavar="PROFILE|FILE|KEY=VALUE,…", help="What the GPUs are."),
)  # fmt: skip

#: Where checkpoints are read.
checkpoint_options = _adding(
    click.option("--online", is_flag=True, help="Download the JSON files of Hub ids not cached."),
    click.option("--accept-new", is_flag=True, help="Add a host of ssh:// to known_hosts."),
)

#: All that one launch is made of, but for its engine.
launch_options = _adding(environment_options, checkpoint_options)

#: Which engines are asked, and how the answer comes.
report_options = _adding(
    click.option(
        "--engine", "engines", multiple=True, metavar="NAME[@VERSION|@PATH]",
        help="Engine and release; sglang at its newest known release if not given.",
    ),
    click.option(
        "--fail-on", type=click.Choice([*FAIL_ON, "never"]), default="error", show_default=True,
        help="The least severity that exits with 1.",
    ),
    click.option("--format", "form", type=click.Choice(FORMATS), default="text"),
    click.option(
        "--output", "outputs", multiple=True, metavar="FORMAT=FILE",
        help="Write the report to a file too, in any format but text.",
    ),
    click.option("--color", type=click.Choice(["auto", "always", "never"]), default="auto"),
)  # fmt: skip


def options_of(
    ctx: click.Context, paths: tuple[str, ...], given: Mapping[str, Any], *, engine: str | None
) -> Options:
    """Return what a command line says of its launch, for `load_launches`; reach its hosts."""
    from specpreflight.cli.check import Options

    reach_hosts(ctx, paths, accept_new=given["accept_new"])
    words = ctx.meta["words"]
    return Options(
        typed=ctx.meta["typed"],
        paths=paths,
        words=None if words is None else tuple(words),
        engines=() if engine is None else (engine,),
        settings=given["settings"],
        env_files=given["env_files"],
        use_process_environment=not given["no_env"],
        hardware=given["hardware"],
        online=given["online"],
        nccl=given["nccl"],
    )
