"""From a `check` command line to launches: what is given as paths, words, a file or stdin."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from specpreflight.api import build_launch, identify_engine
from specpreflight.errors import UsageError
from specpreflight.models.launch import EngineVersion, Launch, Variable
from specpreflight.sources.environment import read_environment
from specpreflight.sources.hub_cache import find_or_download, find_snapshot

if TYPE_CHECKING:
    from specpreflight.cli.check import Options
    from specpreflight.models.command import Command

#: Forms of launch that start on another machine or in a container, where the variables of this
#: process never arrive.
_ELSEWHERE = frozenset({"compose", "kubernetes", "kubernetes-custom", "helm-values", "systemd"})


def load_launches(options: Options) -> list[Launch]:
    """Read the launch once for each engine that was asked for.

    A file that starts several engines gives the launch that says most about speculation, or all of
    them with `every_launch`.

    Raises:
        UsageError: the arguments do not name a launch.
        InputError: a launch file or an environment file cannot be read.
    """
    target, draft, command = _read_command(options)
    hardware = None
    if options.hardware is not None:
        from specpreflight.sources.hardware import read_hardware

        hardware = read_hardware(options.hardware)
    commands: Sequence[Command | None] = (command,)
    if command is not None and command.others:
        if options.every_launch:
            commands = _in_order(command)
        else:
            _tell_others(command)
    return [
        build_launch(
            target,
            draft,
            engine=engine,
            words=() if command is None else _words(command, engine),
            environment=_environment(options, command, engine),
            hardware=hardware,
            locate=_Locator(command) if options.machine is None else options.machine.locate,
            find=find_or_download if options.online else find_snapshot,
            facts=_facts(options, command, engine),
        )
        for command in commands
        for engine in _engines(options, command)
    ]


def _in_order(command: Command) -> Sequence[Command]:
    """Return all engine launches of a command's file, as they stand there."""
    return sorted((command, *command.others), key=lambda one: one.command_index)


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


def _words(command: Command, engine: EngineVersion) -> tuple[str, ...]:
    """Return the engine's words, with those of a `--config` file where its release puts them."""
    if command.config is None:
        return command.argv
    from specpreflight.cli.launch import merged_words

    return merged_words(command, engine.version)


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
    if len(paths) == 1 and (paths[0] == "-" or _is_launch_file(Path(paths[0]))):
        return None, None, _read_file(paths[0], words or ())
    target, draft = (*paths, None, None)[:2]
    if not words:
        return target, draft, None
    from specpreflight.sources.launch_command import read_launch

    return target, draft, read_launch(words, environment=os.environ)


def _is_launch_file(path: Path) -> bool:
    """Return whether a path is a script, manifest, unit … rather than a checkpoint."""
    if path.suffix == ".json" and path.is_file():
        from specpreflight.sources.keyword_arguments import is_launch

        return is_launch(path)
    return path.is_file() and path.suffix not in (".safetensors", ".bin", ".gguf")


def _read_file(path: str, arguments: Sequence[str]) -> Command:
    from specpreflight.sources.launch_command import read_launch_file, read_launch_text

    if path == "-":
        return read_launch_text(sys.stdin.read(), environment=os.environ)
    return read_launch_file(Path(path), arguments=arguments, environment=os.environ, given=path)


def _engines(options: Options, command: Command | None) -> list[EngineVersion]:
    """Return the engines asked for, else the one that the launch names."""
    if options.engines:
        return [identify_engine(engine) for engine in options.engines]
    if command is None or command.engine_version is None:
        return _undetermined(None if command is None else command.engine, options)
    named = identify_engine(f"{command.engine}@{command.engine_version}")
    return [replace(named, determined_by=f"image {command.image}")]


def _undetermined(name: str | None, options: Options) -> list[EngineVersion]:
    """Return the versions where the launch names none: recorded, configured, else the newest."""
    recorded = options.assumed
    if recorded and recorded.name == (name or "sglang"):
        return [recorded]
    configured = [one for one in options.configured_engines if name in (None, one.name)]
    return configured or [identify_engine(name or "sglang")]


def _facts(options: Options, command: Command | None, engine: EngineVersion) -> dict[str, Any]:
    """Return what else rules and engines ask about.

    A `--config` file that the engine would refuse is left to it; else its words are merged.
    """
    facts: dict[str, Any] = {} if command is None else {"command": command}
    if command is not None and command.config and _words(command, engine) == command.argv:
        facts["config_file"] = command.config
    return facts if options.nccl is None else {**facts, "nccl_release": options.nccl}


def _environment(
    options: Options, command: Command | None, engine: EngineVersion
) -> dict[str, Variable]:
    """Return the variables of the launch: process, launch, env files, `--env`; the last wins.

    What NCCL's own files add comes after all of them: NCCL leaves alone what is set.
    """
    is_elsewhere = command is not None and (command.image is not None or command.form in _ELSEWHERE)
    inherited = None if is_elsewhere else _inherited(options)
    stated: Mapping[str, Variable] = {} if command is None else command.seen_by_engine()
    given = read_environment(None, options.env_files, options.settings)
    environment = {**(inherited or {}), **stated, **given}
    if inherited is None:
        return environment
    if options.machine is not None:
        return options.machine.add_nccl_files(environment, engine, options.nccl)
    from specpreflight.cli.nccl_files import add_nccl_files

    return add_nccl_files(environment, engine.name, engine.version, options.nccl)


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


class _Locator:
    """Finds the checkpoints that a launch names, which may lie outside its container."""

    def __init__(self, command: Command | None) -> None:
        self.command = command

    def __call__(self, path: str) -> str:
        if self.command is None:
            return path
        outside = self.command.outside(path)
        if os.path.lexists(outside):
            return outside
        for folder in self._folders():
            if (folder / outside).exists():
                return str(folder / outside)
        return outside

    def _folders(self) -> Iterator[Path]:
        """Yield where a relative path may start: where the command changes to, beside its file."""
        assert self.command is not None
        if self.command.directory is not None:
            yield Path(self.command.outside(self.command.directory))
        if self.command.path is not None:
            yield Path(self.command.path).parent
