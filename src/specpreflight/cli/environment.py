"""What the `env` commands share: where variables come from, read and understood once."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from specpreflight.errors import InputError, UsageError
from specpreflight.models.launch import EngineVersion, Hardware, Launch, Variable
from specpreflight.models.nccl import reading_of

if TYPE_CHECKING:
    from specpreflight.models.environment_report import EnvironmentReport
    from specpreflight.models.finding import Finding
    from specpreflight.models.nccl import NcclReading
    from specpreflight.sources.profile_files import ProfileSetting

#: The engine of a report that asks about none: it writes nothing.
_NO_ENGINE = EngineVersion("none", "0", "not asked")


@dataclass(frozen=True, slots=True)
class EnvironmentOptions:
    """Where the variables are to be read from, and what reads them."""

    files: tuple[str, ...] = ()
    settings: tuple[str, ...] = ()
    env_files: tuple[str, ...] = ()
    use_process_environment: bool = True
    pid: int | None = None
    nccl: str | None = None
    engine: str | None = None
    words: tuple[str, ...] = ()
    hardware: str | None = None


@dataclass(frozen=True, slots=True)
class LoadedEnvironment:
    """The variables of a launch with what is known of their places.

    `kinds` says for each variable which kinds of place set it alike (see `models/reach.py`).
    """

    launch: Launch
    kinds: Mapping[str, tuple[str, ...]]
    notes: tuple[str, ...] = ()

    @property
    def reading(self) -> NcclReading:
        """The NCCL environment as one release reads it."""
        reading = reading_of(self.launch)
        assert reading is not None
        return reading


def environment_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add FILE arguments and the options that say where variables come from."""
    return click.argument("files", nargs=-1, metavar="[FILE]...")(source_options(command))


def source_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options that say where variables come from, and what reads them."""
    for option in reversed(
        (
            click.option(
                "--env", "settings", multiple=True, metavar="NAME=VALUE",
                help="Set a variable, byte for byte.",
            ),
            click.option(
                "--env-file", "env_files", multiple=True, metavar="[docker:|dotenv:]FILE",
                help="Read an env file; as dotenv if not said otherwise.",
            ),
            click.option("--no-env", is_flag=True, help="Leave this process's variables out."),
            click.option("--pid", type=int, help="Read the variables of a running process."),
            click.option("--nccl", metavar="VERSION", help="The NCCL release that will run."),
            click.option("--engine", metavar="NAME[@VERSION]", help="The engine that will run."),
            click.option(
                "--hardware", metavar="PROFILE|FILE|KEY=VALUE,…|local",
                help="What the machine is; `local` asks nvidia-smi.",
            ),
        )
    ):  # fmt: skip
        command = option(command)
    return command


def load_environment(options: EnvironmentOptions) -> LoadedEnvironment:
    """Read all sources; a later one wins: process, nccl.conf, files, env files, `--env`.

    Raises:
        UsageError: an option cannot be understood.
        InputError: a source cannot be read.
    """
    from specpreflight.engines.nccl.versions import determine_release
    from specpreflight.sources.installed_nccl import find_installed_nccl, find_nccl_of_process

    engine, flags = _identify(options)
    installed = find_installed_nccl() if options.use_process_environment else None
    if options.pid is not None:
        installed = find_nccl_of_process(options.pid)
    release, _ = determine_release(options.nccl, installed, engine.name, engine.version)
    sources = _Sources(options)
    sources.read_process()
    for given in options.files:
        sources.read_file(given, release)
    sources.read_options()
    if options.use_process_environment:
        sources.read_nccl_conf(release)
    hardware = _hardware(options.hardware)
    launch = Launch(
        engine=engine,
        target=None,
        draft=None,
        argv=options.words,
        flags=flags,
        environment=sources.variables,
        hardware=hardware,
    )
    from specpreflight.engines.nccl.launch import read_launch

    reading = read_launch(launch, wanted=options.nccl, installed=installed)
    launch = replace(launch, facts={"nccl": reading})
    kinds = {name: tuple(sources.kinds.get(name, ())) for name in sources.variables}
    return LoadedEnvironment(launch, kinds, tuple(sources.notes))


def _identify(options: EnvironmentOptions) -> tuple[EngineVersion, Mapping[str, Any]]:
    if options.engine is None:
        if options.words:
            raise UsageError("words after `--` are the engine's", hint="name it with --engine")
        return _NO_ENGINE, {}
    from specpreflight.api import identify_engine

    version = identify_engine(options.engine)
    if not options.words:
        return version, {}
    from specpreflight.engines.registry import find_engine

    return version, find_engine(version.name).read_arguments(options.words, version).flags


def _hardware(text: str | None) -> Hardware:
    if text is None:
        return Hardware()
    from specpreflight.sources.hardware import read_hardware

    return read_hardware(text)


@dataclass
class _Sources:
    """Collects variables, the last writer winning, with the kinds of their places."""

    options: EnvironmentOptions
    variables: dict[str, Variable] = field(default_factory=dict)
    kinds: dict[str, list[str]] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)

    def add(self, variables: Mapping[str, Variable], kind: str) -> None:
        for name, variable in variables.items():
            before = self.variables.get(name)
            if before is None or before.value != variable.value:
                self.kinds[name] = []
            self.kinds[name].append(kind)
            self.variables[name] = variable

    def texts(self) -> dict[str, str]:
        return {name: known.value or "" for name, known in self.variables.items()}

    def read_process(self) -> None:
        from specpreflight.sources.environment import read_process

        if self.options.pid is not None:
            from specpreflight.sources.process_environ import read_process_environ

            self.add(read_process_environ(self.options.pid), "running")
        elif self.options.use_process_environment:
            self.add(read_process(os.environ), "process")
            self._compare_with_profiles()

    def _compare_with_profiles(self) -> None:
        """Note which variables of this process a profile file sets to the same value."""
        if not any(name.startswith("NCCL_") for name in self.variables):
            return
        from specpreflight.sources.profile_files import read_profile_files

        try:
            for setting in read_profile_files(Path.home()):
                self._note_profile(setting)
        except InputError as error:
            self.notes.append(error.message)

    def _note_profile(self, setting: ProfileSetting) -> None:
        name, value = setting.variable.name, setting.variable.value
        known = self.variables.get(name)
        if known is not None and known.value == value and name.startswith("NCCL_"):
            self.kinds[name].append(setting.readers)
            self.variables[name] = setting.variable

    def read_file(self, given: str, release: Any) -> None:
        from specpreflight.sources.environment_sources import read_environment_source
        from specpreflight.sources.profile_files import read_profile_file

        path = Path(given)
        source = read_environment_source(path, given, release, self.texts())
        self.notes.extend(f"{given}: {note}" for note in source.notes)
        self._leave_behind(source.inherits, given)
        if source.form == "profile":
            for setting in read_profile_file(path, given):
                self.add({setting.variable.name: setting.variable}, setting.readers)
        else:
            self.add(source.variables, _kind_of_form(source.form))

    def _leave_behind(self, inherits: frozenset[str] | None, given: str) -> None:
        """Drop what a file's launch does not get from the shell around it."""
        if inherits is None:
            return
        lost = [
            name
            for name, kinds in self.kinds.items()
            if {"process", "session", "login", "bash", "terminal"}.issuperset(kinds)
            and name not in inherits
        ]
        nccl = [name for name in lost if name.startswith("NCCL_")]
        if nccl:
            self.notes.append(f"{given}: {', '.join(nccl)} of this shell do not reach it")
        for name in lost:
            del self.variables[name], self.kinds[name]

    def read_options(self) -> None:
        from specpreflight.sources.environment import read_env_variables, read_settings

        for given in self.options.env_files:
            variables, notes = read_env_variables(given, self.texts())
            self.add(variables, "env-file")
            self.notes.extend(notes)
        self.add(read_settings(self.options.settings), "option")

    def read_nccl_conf(self, release: Any) -> None:
        from specpreflight.cli.nccl_files import explain_named_file, read_files

        added = read_files(self.variables, release)
        self.notes.extend(explain_named_file(self.variables, added, release))
        self.add(added, "nccl.conf")


def _kind_of_form(form: str) -> str:
    if form in ("systemd", "nccl.conf", "env-file"):
        return form
    if form in ("compose", "kubernetes", "kubernetes-custom", "helm-values", "docker-run", "ray"):
        return "container"
    return "script"


def find_problems(launch: Launch) -> tuple[Finding, ...]:
    """Run the NCCL rules alone, worst findings first."""
    from specpreflight.models.finding import SEVERITY_OF_OUTCOME, Severity
    from specpreflight.models.resolved import Resolved
    from specpreflight.rules.registry import load_area

    found: list[Finding] = []
    for rule in load_area("nccl"):
        if not rule.needs or launch.hardware != Hardware():
            found.extend(rule.check(launch, Resolved({}, ())))
    order = list(Severity)
    return tuple(
        sorted(
            found,
            key=lambda one: order.index(one.severity or SEVERITY_OF_OUTCOME[one.outcome]),
        )
    )


def build_report(loaded: LoadedEnvironment, options: EnvironmentOptions) -> EnvironmentReport:
    """Return what `env show` prints."""
    from specpreflight.models.environment_report import EnvironmentReport, ShownVariable
    from specpreflight.models.reach import combine

    reading = loaded.reading
    shown = []
    for variable in reading.variables:
        facts = variable.facts
        kinds = [kind for kind in loaded.kinds.get(variable.name, ()) if kind]
        shown.append(
            ShownVariable(
                name=variable.name,
                value=variable.value,
                understood=variable.understood.text,
                effect=variable.effect,
                kind=variable.understood.kind,
                message=variable.understood.message,
                origin=variable.origin,
                meaning=facts.meaning if facts else "",
                agreement=facts.agreement if facts else "unknown",
                suggestions=variable.suggestions,
                written_by_engine=variable.setting,
                survives=combine(kinds) if kinds else {},
            )
        )
    engine = loaded.launch.engine
    return EnvironmentReport(
        node=os.uname().nodename,
        reading=reading,
        variables=tuple(shown),
        findings=find_problems(loaded.launch),
        engine=None if options.engine is None else f"{engine.name} {engine.version}",
        notes=loaded.notes,
    )


def split_words(args: Sequence[str]) -> tuple[list[str], tuple[str, ...]]:
    """Split a command line at its first `--`: what is ours, and the engine's or the command."""
    if "--" not in args:
        return list(args), ()
    place = list(args).index("--")
    return list(args[:place]), tuple(args[place + 1 :])
