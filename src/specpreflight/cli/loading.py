"""From a `check` command line to launches: what is given as paths, words, a file or stdin."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click

from specpreflight.api import identify_engine
from specpreflight.conditions import Surroundings, in_order, is_launch_file, launches_of
from specpreflight.errors import UsageError
from specpreflight.models.launch import EngineVersion, Launch, Variable
from specpreflight.reports.printable import printable
from specpreflight.sources.environment import read_environment
from specpreflight.sources.hub_cache import find_or_download, find_snapshot

if TYPE_CHECKING:
    from specpreflight.cli.check import Options
    from specpreflight.models.command import Command


def load_launches(options: Options) -> list[Launch]:
    """Read the launch once for each engine that was asked for.

    A file that starts several engines gives the launch that says most about speculation, or all of
    them with `every_launch`.

    Raises:
        UsageError: the arguments do not name a launch.
        InputError: a launch file or an environment file cannot be read.
    """
    target, draft, command = _read_command(options)
    around = surroundings_of(options)
    commands: Sequence[Command | None] = (command,)
    if command is not None and command.others:
        if options.every_launch:
            commands = in_order(command)
        else:
            _tell_others(command)
    for one in filter(None, commands):
        _tell_missing(one)
    return [launch for one in commands for launch in launches_of(one, around, target, draft)]


def surroundings_of(options: Options) -> Surroundings:
    """Return what the options say of any launch.

    Raises:
        UsageError: an engine, hardware or variable is not what it may be.
        InputError: a file that they name cannot be read.
    """
    hardware = None
    if options.hardware is not None:
        from specpreflight.sources.hardware import read_hardware

        hardware = read_hardware(options.hardware)
    return Surroundings(
        engines=tuple(identify_engine(engine) for engine in options.engines),
        recorded=options.assumed,
        configured=options.configured_engines,
        inherited=_inherited(options),
        given=read_environment(None, options.env_files, options.settings),
        add_files=partial(_add_nccl_files, options),
        hardware=hardware,
        nccl=options.nccl,
        locate=None if options.machine is None else options.machine.locate,
        find=find_or_download if options.online else find_snapshot,
    )


def _tell_others(command: Command) -> None:
    """Say on stderr that a file starts more than is checked."""
    click.echo(
        f"specpreflight: {command.path or 'the command'} starts {len(command.others) + 1} engines; "
        f"this is about "
        f"number {command.command_index + 1}"
        + (f", on line {command.line}" if command.line else "")
        + (f"\n  all of them: specpreflight scan {command.path}" if command.path else ""),
        err=True,
    )


def _tell_missing(command: Command) -> None:
    """Say on stderr which files of the launch are not here, so that what they hold is not known."""
    from specpreflight.models.command import find_markers

    files = [name for name in command.unresolved if not find_markers((name,))]
    if files:
        click.echo(
            f"specpreflight: {printable(', '.join(files))}: not here, or no text; "
            "what the launch takes from there is not known",
            err=True,
        )


def _read_command(options: Options) -> tuple[str | None, str | None, Command | None]:
    """Return target, draft and the command, each `None` where it is not given."""
    paths, words = options.paths, options.words
    if len(paths) > 2:
        raise UsageError(
            f"check takes TARGET and DRAFT, got {len(paths)} paths: {' '.join(paths)}",
            hint="put the engine's own arguments after `--`",
        )
    if not paths and not words:
        raise UsageError(
            "nothing to check",
            hint="specpreflight check TARGET DRAFT, or: specpreflight check -- python -m "
            "sglang.launch_server …",
        )
    if len(paths) == 1 and (paths[0] == "-" or is_launch_file(Path(paths[0]))):
        return None, None, _read_file(paths[0], words or ())
    target, draft = (*paths, None, None)[:2]
    if not words:
        return target, draft, None
    from specpreflight.sources.launch_command import read_launch

    return target, draft, read_launch(words, environment=os.environ)


def _read_file(path: str, arguments: Sequence[str]) -> Command:
    from specpreflight.sources.launch_command import read_launch_file, read_launch_text

    if path == "-":
        return read_launch_text(sys.stdin.read(), environment=os.environ)
    return read_launch_file(Path(path), arguments=arguments, environment=os.environ, given=path)


def _inherited(options: Options) -> Mapping[str, Variable] | None:
    """Return the variables around the launch, `None` where nothing is around it."""
    if options.machine is not None:
        return options.machine.inherited
    if options.pid is not None:
        from specpreflight.cli.host_launch import variables_of_process

        return variables_of_process(options.pid)
    if not options.use_process_environment:
        return None
    if options.inherited is not None:
        return options.inherited
    return read_environment(os.environ, (), ())


def _add_nccl_files(
    options: Options, environment: Mapping[str, Variable], engine: EngineVersion
) -> Mapping[str, Variable]:
    """Add what NCCL's own files set: what is set already, NCCL leaves alone."""
    if options.machine is not None:
        return options.machine.add_nccl_files(environment, engine, options.nccl)
    from specpreflight.cli.nccl_files import add_nccl_files

    return add_nccl_files(environment, engine.name, engine.version, options.nccl)
