"""systemd units: `ExecStart=` with its environment (systemd.service(5), systemd.exec(5))."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from specpreflight.sources import containers
from specpreflight.sources.processes import Process, Tracer
from specpreflight.sources.systemd_environment import (
    build_container_environment,
    build_service_environment,
)
from specpreflight.sources.systemd_files import find_drop_ins
from specpreflight.sources.systemd_syntax import Setting, read_settings, split_command
from specpreflight.sources.text_file import read_text_file

_PREFIXES = "@-:+!|"
_WHOLE_VARIABLE = re.compile(r"\$([A-Za-z_]\w*)")
_INNER_VARIABLE = re.compile(r"\$\$|\$\{([A-Za-z_]\w*)\}")


def is_unit(text: str) -> bool:
    """Say whether a text is a unit that starts something."""
    return re.search(r"^\[(Service|Container)\]\s*$", text, re.MULTILINE) is not None


def read_unit(
    text: str, tracer: Tracer, given: Mapping[str, str], arguments: tuple[str, ...]
) -> None:
    """Follow what a unit and its drop-ins start; a service gets nothing of the caller's shell."""
    settings = _read_all(text, tracer)
    unit = tracer.files.launch.name if tracer.files.launch is not None else "unknown.service"
    executions: list[Setting] = []
    directory = None
    container: dict[str, list[str]] = {}
    for setting in settings:
        if setting.section == "Container":
            container.setdefault(setting.name, []).append(setting.value)
        match setting.name:
            case "WorkingDirectory":
                directory = setting.value.lstrip("-~") or None
            case "ExecStart" if not setting.value:
                executions.clear()
            case "ExecStart":
                executions.append(setting)
    service = [one for one in settings if one.section == "Service"]
    environment = build_service_environment(service, unit, tracer)
    known = {name: found.value or "" for name, found in environment.items()}
    process = Process((), environment, directory=directory)
    for setting in executions:
        words = tuple(_expanded(split_command(setting.value.lstrip(_PREFIXES)).words, known))
        tracer.follow(_at(process, words, setting.line))
    if executions:
        return
    if "Image" not in container:
        tracer.follow(process)
    else:
        inside = [one for one in settings if one.section == "Container"]
        environment = build_container_environment(inside, unit, tracer)
        _container(container, Process((), environment, directory=directory), known, tracer)


def _read_all(text: str, tracer: Tracer) -> list[Setting]:
    """Return the settings of the unit, then those of its drop-ins."""
    settings = list(read_settings(text, tracer.path))
    launch = tracer.files.launch
    for path in [] if launch is None else find_drop_ins(launch):
        settings += read_settings(read_text_file(path), str(path))
    return settings


def _at(process: Process, words: tuple[str, ...], line: int) -> Process:
    return Process(words, process.environment, directory=process.directory, line=line)


def _container(
    settings: Mapping[str, list[str]], process: Process, known: Mapping[str, str], tracer: Tracer
) -> None:
    """Follow a Quadlet unit (podman-systemd.unit(5))."""
    path_map = [
        pair for text in settings.get("Volume", ()) for pair in containers.read_volume(text)
    ]
    words = _expanded(split_command(" ".join(settings.get("Exec", ()))).words, known)
    tracer.container(
        Process((), process.environment, image=settings["Image"][-1], path_map=tuple(path_map)),
        tuple(settings.get("Entrypoint", ())),
        list(words),
    )


def _expanded(words: list[str], known: Mapping[str, str]) -> Iterator[str]:
    """Replace variables: `$NAME` as a word of its own is split, `${NAME}` stays one word."""
    for word in words:
        whole = _WHOLE_VARIABLE.fullmatch(word)
        if whole is None:
            yield _INNER_VARIABLE.sub(lambda found: _inner(found, known), word).replace("%%", "%")
        elif whole.group(1) in known:
            yield from split_command(known[whole.group(1)]).words
        else:
            yield f"${{{whole.group(1)}}}"


def _inner(found: re.Match[str], known: Mapping[str, str]) -> str:
    name = found.group(1)
    return "$" if name is None else known.get(name, f"${{{name}}}")
