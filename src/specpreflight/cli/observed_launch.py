"""Launches that are running, or have run: read from a process or from a log."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from specpreflight.api import build_launch, identify_engine
from specpreflight.models.finding import Origin
from specpreflight.models.launch import EngineVersion, Hardware, Launch, Variable
from specpreflight.sources.environment import read_environment
from specpreflight.sources.hub_cache import find_or_download, find_snapshot
from specpreflight.sources.launch_command import read_launch
from specpreflight.sources.libraries import find_site

if TYPE_CHECKING:
    from specpreflight.cli.check import Options
    from specpreflight.models.command import Command
    from specpreflight.models.diagnosis import Diagnosis
    from specpreflight.sources.running_process import RunningProcess


def launch_of_process(pid: int, options: Options) -> Launch:
    """Read the launch of a running server: its words, variables, folder and installed engine.

    Raises:
        InputError: there is no such process, it is another user's, or it starts no engine.
    """
    from specpreflight.sources.process_environ import read_process_environ
    from specpreflight.sources.running_process import read_running_process

    process = read_running_process(pid)
    texts = {name: known.value or "" for name, known in read_process_environ(pid).items()}
    command = read_launch(process.words, environment=texts)
    return _build(
        command,
        _engine_of_process(command, process, options),
        {**read_environment(texts, (), ()), **_given(options)},
        options,
        [process.directory, Path(f"/proc/{pid}/root")],
    )


def launch_of_log(path: str, diagnosis: Diagnosis, options: Options) -> Launch:
    """Read the launch that wrote a log: its release, flags, and the variables that were printed.

    Raises:
        InputError: the traced command starts no engine.
    """
    from specpreflight.changes.logged_launch import words_of_log
    from specpreflight.engines.registry import find_engine

    engine = _engine_of_log(path, diagnosis, options)
    words = words_of_log(diagnosis, find_engine(engine.name).facts(engine))
    stated = {
        name: Variable(name, value, Origin("environment", path=path, name=name))
        for name, value in {**diagnosis.launch.proven, **diagnosis.launch.environment}.items()
    }
    return _build(
        read_launch(words), engine, {**stated, **_given(options)}, options, [Path(path).parent]
    )


def _build(
    command: Command,
    engine: EngineVersion,
    environment: Mapping[str, Variable],
    options: Options,
    folders: list[Path],
) -> Launch:
    hardware = Hardware()
    if options.hardware is not None:
        from specpreflight.sources.hardware import read_hardware

        hardware = read_hardware(options.hardware)
    target, draft = (*options.paths, None, None)[:2]
    return build_launch(
        target,
        draft,
        engine=engine,
        words=command.argv,
        environment=environment,
        hardware=hardware,
        locate=lambda named: _locate(named, folders),
        find=find_or_download if options.online else find_snapshot,
        facts={"command": command},
    )


def _locate(named: str, folders: list[Path]) -> str:
    """Return a path that the launch names as it is reached from here."""
    if Path(named).exists():
        return named
    places = [folder / named.lstrip("/") for folder in folders]
    return next((str(place) for place in places if place.exists()), named)


def _engine_of_process(
    command: Command, process: RunningProcess, options: Options
) -> EngineVersion:
    if options.engines:
        return identify_engine(options.engines[0])
    name = command.engine or "sglang"
    site = find_site(name, process.interpreter)
    return identify_engine(name if site is None else f"{name}@{site}")


def _engine_of_log(path: str, diagnosis: Diagnosis, options: Options) -> EngineVersion:
    if options.engines:
        return identify_engine(options.engines[0])
    release = diagnosis.version.high or diagnosis.version.low
    name = diagnosis.engine or "sglang"
    if release is None:
        return identify_engine(name)
    found = identify_engine(f"{name}@{release}")
    return replace(found, determined_by=f"the log {path}: {diagnosis.version}")


def _given(options: Options) -> Mapping[str, Variable]:
    return read_environment(None, options.env_files, options.settings)
