"""The options that say what a launch is made of, for the commands that read one."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import click

from specpreflight.cli.check import Options
from specpreflight.cli.remote import reach_hosts


def launch_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options for variables, hardware and checkpoints, as `check` has them."""
    for option in reversed(
        (
            click.option(
                "--env", "settings", multiple=True, metavar="NAME=VALUE",
                help="Set a variable for the launch, byte for byte.",
            ),
            click.option(
                "--env-file", "env_files", multiple=True, type=click.Path(path_type=Path),
                metavar="[docker:|dotenv:]FILE", help="Read variables from a file.",
            ),
            click.option("--no-env", is_flag=True, help="Leave this process's variables out."),
            click.option("--nccl", metavar="VERSION", help="The NCCL release that will run."),
            click.option(
                "--hardware", metavar="PROFILE|FILE|KEY=VALUE,…", help="What the GPUs are."
            ),
            click.option(
                "--online", is_flag=True, help="Download the JSON files of Hub ids not cached."
            ),
            click.option(
                "--accept-new", is_flag=True, help="Add a host of ssh:// to known_hosts."
            ),
        )
    ):  # fmt: skip
        command = option(command)
    return command


def options_of(
    ctx: click.Context, paths: tuple[str, ...], given: Mapping[str, Any], *, engine: str | None
) -> Options:
    """Return what a command line says of its launch, for `load_launches`; reach its hosts."""
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
