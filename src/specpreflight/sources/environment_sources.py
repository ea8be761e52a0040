"""Any file that sets variables: what it is, and what the process that it is for would see."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from specpreflight.errors import InputError
from specpreflight.models.command import Command, find_markers
from specpreflight.models.finding import Origin
from specpreflight.models.launch import Variable
from specpreflight.models.nccl import Release
from specpreflight.sources.env_file import EnvFile, read_env_file
from specpreflight.sources.launch_command import choose_command
from specpreflight.sources.launch_files import LaunchFiles
from specpreflight.sources.launch_forms import find_form
from specpreflight.sources.manifest_variables import read_manifest_variables
from specpreflight.sources.nccl_conf import parse_nccl_conf
from specpreflight.sources.processes import Process, Tracer
from specpreflight.sources.profile_files import read_profile_file
from specpreflight.sources.shell import Shell
from specpreflight.sources.slurm_export import read_slurm_export
from specpreflight.sources.text_file import read_bytes, read_text_file

_PROFILES = frozenset(
    {"environment", "profile", ".profile", ".bash_profile", ".bash_login", ".bashrc",
     "bash.bashrc", "bashrc"}
)  # fmt: skip
#: Forms that start where the variables of a shell never arrive.
_ELSEWHERE = frozenset(
    {"compose", "kubernetes", "kubernetes-custom", "helm-values", "systemd", "docker-run"}
)


@dataclass(frozen=True, slots=True)
class EnvironmentSource:
    """A file that was read: its form (`systemd`, `compose`, `nccl.conf`, …) and its variables.

    `inherits` names the variables of the surrounding shell that reach what the file starts; `None`
    is all of them.
    """

    form: str
    variables: Mapping[str, Variable]
    notes: tuple[str, ...] = ()
    inherits: frozenset[str] | None = None


@dataclass
class _Collector(Tracer):
    """A tracer that keeps the variables of every process, whatever it starts."""

    processes: list[Process] = field(default_factory=list)

    def follow(self, process: Process) -> bool:
        self.processes.append(process)
        return super().follow(process)

    def container(
        self, process: Process, entrypoint: Sequence[str] | None, words: Sequence[str]
    ) -> bool:
        self.processes.append(process)
        return super().container(process, entrypoint, words)


def read_environment_source(
    path: Path, given: str, release: Release, environment: Mapping[str, str] | None = None
) -> EnvironmentSource:
    """Read a file that sets variables, whatever its kind.

    Args:
        path: the file.
        given: how the user named it.
        release: the NCCL release that would read an nccl.conf.
        environment: what surrounds it, for `${NAME}`.

    Raises:
        InputError: it cannot be read, or is nothing that sets variables.
    """
    surroundings = dict(environment or {})
    if path.name.endswith("nccl.conf") and path.parent.suffix != ".d":
        return _read_conf(path, given, release)
    if path.name in _PROFILES or path.parent.name == "profile.d":
        settings = read_profile_file(path, given)
        return EnvironmentSource("profile", {one.variable.name: one.variable for one in settings})
    text = read_text_file(path, given)
    form, read = find_form(text, given)
    if form == "env-file":
        lines = read_env_file(EnvFile(path, "dotenv", given), surroundings)
        return EnvironmentSource(
            form,
            {
                line.name: Variable(
                    line.name,
                    line.value,
                    Origin("file", path=given, line=line.line, column=line.column),
                )
                for line in lines
            },
            tuple(f"{line.name}: {line.note}" for line in lines if line.note),
        )
    tracer = _Collector(given, LaunchFiles(path))
    read(text, tracer, surroundings, ())
    collected, differing = _seen(tracer)
    if not tracer.commands and form.startswith(("shell", "benchmark", "sbatch", "docker")):
        collected = {**_exports(text, given, surroundings), **collected}
    if not collected and form.startswith("kubernetes"):
        collected = read_manifest_variables(text, given)
    slurm = read_slurm_export(text) if form == "sbatch" else None
    inherits = frozenset[str]() if form in _ELSEWHERE else None
    if slurm is not None:
        inherits = slurm.names
        for name, value, number in slurm.values:
            collected.setdefault(
                name, Variable(name, value, Origin("file", path=given, line=number))
            )
    if not collected and not tracer.commands:
        raise InputError(
            f"{given}: sets no variable that could be found",
            hint="give a script, unit, compose file, manifest, env file or nccl.conf",
        )
    variables = {name: _known(one) for name, one in collected.items()}
    missing = (f"{name} is not here: what it sets is unknown" for name in tracer.missing)
    return EnvironmentSource(form, variables, (*tracer.notes, *differing, *missing), inherits)


def _seen(tracer: _Collector) -> tuple[dict[str, Variable], list[str]]:
    """Return the variables of the launch, and where the file's other launches differ.

    Of several engines it is the one that `check` would take; without an engine, all processes
    together.
    """
    if tracer.commands:
        chosen = choose_command(tracer.commands)
        variables = dict(chosen.seen_by_engine())
        others = [(_label(one), one.seen_by_engine()) for one in tracer.commands]
    else:
        variables = {}
        for process in tracer.processes:
            variables.update(process.environment)
        others = [(_label(one), one.environment) for one in tracer.processes]
    differing = []
    for name in sorted(variables):
        values = {label: each[name].value for label, each in others if name in each}
        if name.startswith("NCCL_") and len(set(values.values())) > 1:
            told = ", ".join(f"`{value}` for {label}" for label, value in values.items())
            differing.append(f"{name} is {told}; shown is `{variables[name].value}`")
    return variables, differing


def _label(process: Process | Command) -> str:
    return process.service or f"line {process.line}"


def _read_conf(path: Path, given: str, release: Release) -> EnvironmentSource:
    variables: dict[str, Variable] = {}
    notes = []
    for line in parse_nccl_conf(read_bytes(path, given), release):
        origin = Origin("file", path=given, line=line.line, column=1)
        variables.setdefault(line.name, Variable(line.name, line.value, origin))
        if line.note:
            notes.append(f"{line.name}: {line.note}")
    return EnvironmentSource("nccl.conf", variables, tuple(notes))


def _exports(text: str, given: str, surroundings: Mapping[str, str]) -> dict[str, Variable]:
    """Return what a script exports by its end, for one that starts nothing."""
    shell = Shell(lambda execution: None, lambda name: None, surroundings, path=given)
    shell.run(text)
    return {known.name: known for known in shell.variables.exported()}


def _known(variable: Variable) -> Variable:
    """Return the variable with its place, and without a value that only running would tell."""
    origin = variable.origin
    if origin.path is not None and origin.kind != "file":
        origin = Origin("file", path=origin.path, line=origin.line, column=origin.column)
    value = variable.value
    return Variable(variable.name, None if value and find_markers([value]) else value, origin)
