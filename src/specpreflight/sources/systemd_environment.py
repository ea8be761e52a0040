"""The environment that systemd gives a service, from its settings in systemd's own order.

Restates `src/core/exec-invoke.c:exec_child` (`execute.c` before 254): PassEnvironment=, then
Environment=, then the files of EnvironmentFile=, each replacing what came before **wherever in the
unit it stands**, and UnsetEnvironment= last of all (systemd.exec(5)).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Final

from specpreflight.models.command import variable
from specpreflight.models.launch import Variable
from specpreflight.sources.env_file import EnvFile, read_env_file
from specpreflight.sources.processes import Tracer
from specpreflight.sources.systemd_files import expand_wildcard
from specpreflight.sources.systemd_syntax import (
    Setting,
    is_variable_name,
    read_unit_env_file,
    split_words,
)

#: The letters that `unit_full_printf` replaces; what most of them give only the machine tells.
_SPECIFIER: Final = re.compile(r"%([%aAbBCdDEfgGhHiIjJlLmMnNopPqsStTuUvVwWyY])")


@dataclass
class _Lists:
    """The list settings of a section; an empty assignment forgets what one holds."""

    set_here: dict[str, Variable] = field(default_factory=dict)
    passed: list[Setting] = field(default_factory=list)
    files: list[Setting] = field(default_factory=list)
    unset: list[Setting] = field(default_factory=list)


def build_service_environment(
    settings: Iterable[Setting], unit: str, tracer: Tracer
) -> dict[str, Variable]:
    """Return what the processes of a service get.

    Args:
        settings: those of `[Service]`, drop-ins behind the unit.
        unit: the unit's file name, which the specifiers `%n`, `%p` and `%i` stand for.
        tracer: gets the notes, and the files that are not there.
    """
    lists = _collect(settings, unit, tracer)
    built = {
        name: variable(name, f"${{{name}}}", setting.path, setting.line)
        for setting in lists.passed
        for name in setting.value.split()
    }
    built.update(lists.set_here)
    for name, found in _read_files(lists.files, unit, tracer):
        before = built.get(name)
        if before is not None and before.value != found.value and name in lists.set_here:
            tracer.notes.append(
                f"{name} is `{found.value}` of {_place(found)}, not `{before.value}` of "
                f"{_place(before)}: EnvironmentFile= goes before Environment=, wherever it stands"
            )
        built[name] = found
    for setting in lists.unset:
        for word in split_words(setting.value).words:
            name, equals, value = resolve_specifiers(word, unit).partition("=")
            if name in built and (not equals or built[name].value == value):
                del built[name]
    return built


def build_container_environment(
    settings: Iterable[Setting], unit: str, tracer: Tracer
) -> dict[str, Variable]:
    """Return what the container of a Quadlet's `[Container]` gets (podman-systemd.unit(5)).

    The settings become podman's `--env-file` and `--env`, and there `--env` wins.
    """
    lists = _collect(settings, unit, tracer)
    built: dict[str, Variable] = {}
    for setting in lists.files:
        name = resolve_specifiers(setting.value, unit)
        path = tracer.files.find(name)
        if path is None:
            tracer.missing.append(name)
            continue
        for line in read_env_file(EnvFile(path, "docker", name), {}):
            built[line.name] = variable(line.name, line.value, name, line.line)
    return {**built, **lists.set_here}


def resolve_specifiers(text: str, unit: str) -> str:
    """Replace the specifiers that the unit's name answers; another one becomes a marker."""
    stem = unit.rpartition(".")[0] or unit
    prefix, at, instance = stem.partition("@")
    known = {"%": "%", "n": unit, "N": stem, "p": prefix, "j": prefix.rpartition("-")[2]}
    if instance or not at:
        known["i"] = instance

    def resolve(found: re.Match[str]) -> str:
        return known.get(found[1], f"$(systemd %{found[1]})")

    return _SPECIFIER.sub(resolve, text)


def _collect(settings: Iterable[Setting], unit: str, tracer: Tracer) -> _Lists:
    lists = _Lists()
    for setting in settings:
        match setting.name:
            case "Environment":
                if not setting.value:
                    lists.set_here.clear()
                lists.set_here.update(_assignments(setting, unit, tracer))
            case "PassEnvironment":
                _add(lists.passed, setting)
            case "EnvironmentFile":
                _add(lists.files, setting)
            case "UnsetEnvironment":
                _add(lists.unset, setting)
    return lists


def _add(settings: list[Setting], setting: Setting) -> None:
    if setting.value:
        settings.append(setting)
    else:
        settings.clear()


def _assignments(setting: Setting, unit: str, tracer: Tracer) -> Iterator[tuple[str, Variable]]:
    words, dropped = split_words(setting.value)
    for word in words:
        name, equals, value = resolve_specifiers(word, unit).partition("=")
        if equals and is_variable_name(name):
            yield name, variable(name, value, setting.path, setting.line)
        else:
            tracer.notes.append(f"{_where(setting, unit)}: systemd drops `{word}`: no assignment")
    if dropped:
        tracer.notes.append(
            f"{_where(setting, unit)}: systemd drops `{dropped}`: a quote that does not close, or "
            "an escape that it does not know"
        )


def _read_files(
    settings: Iterable[Setting], unit: str, tracer: Tracer
) -> Iterator[tuple[str, Variable]]:
    """Read what EnvironmentFile= names; with a `-` in front a file may be missing."""
    for setting in settings:
        stated = resolve_specifiers(setting.value.removeprefix("-"), unit)
        for name in expand_wildcard(stated):
            text = tracer.files.read(name)
            if text is None:
                tracer.missing.append(name)
            else:
                yield from _assigned(text, name, tracer)


def _assigned(text: str, name: str, tracer: Tracer) -> Iterator[tuple[str, Variable]]:
    for line in read_unit_env_file(text):
        if line.note:
            tracer.notes.append(f"{name}:{line.line}: `{line.name}`: {line.note}")
        else:
            yield line.name, variable(line.name, line.value, name, line.line)


def _where(setting: Setting, unit: str) -> str:
    return f"{setting.path or unit}:{setting.line}"


def _place(known: Variable) -> str:
    return f"{known.origin.path}:{known.origin.line}"
