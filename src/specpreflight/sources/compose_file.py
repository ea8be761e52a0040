"""Compose files: services with an image, a command and an environment (compose-spec)."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from specpreflight.models.command import variable
from specpreflight.models.launch import Variable
from specpreflight.sources import containers
from specpreflight.sources.dotenv import read_dotenv
from specpreflight.sources.processes import Process, Tracer
from specpreflight.sources.text_words import split_shell_words
from specpreflight.sources.yaml_text import YamlList, YamlMap

_REFERENCE = re.compile(r"\$(?:\$|([A-Za-z_]\w*)|\{([A-Za-z_]\w*)([^}]*))")
_OPERATION = re.compile(r"(:?[-?+])(.*)", re.DOTALL)


def is_compose(document: Any) -> bool:
    """Say whether a YAML document is a compose file."""
    services = document.get("services") if isinstance(document, dict) else None
    return isinstance(services, dict) and any(
        isinstance(service, dict) and {"image", "build", "command", "extends"} & set(service)
        for service in services.values()
    )


def read_compose(document: YamlMap, tracer: Tracer, given: Mapping[str, str]) -> None:
    """Follow each service."""
    known = {**_dot_env(tracer), **given}
    for name, service in document["services"].items():
        if isinstance(service, YamlMap):
            _read_service(name, service, tracer, known)


def _dot_env(tracer: Tracer) -> dict[str, str]:
    """Return the variables of the `.env` file beside the compose file."""
    launch = tracer.files.launch
    path = launch.parent / ".env" if launch is not None else None
    if path is None or not path.is_file():
        return {}
    lines = read_dotenv(path.read_text(), ".env", {})
    return {line.name: line.value for line in lines if line.value is not None}


def _read_service(name: str, service: YamlMap, tracer: Tracer, known: Mapping[str, str]) -> None:
    environment: dict[str, Variable] = {}
    for path in _env_files(service.get("env_file")):
        environment.update(_read_env_file(interpolate(path, known), tracer, known))
    environment.update(_read_environment(service.get("environment"), tracer, known))
    image = service.get("image")
    mounts = service.get("volumes")
    process = Process(
        (),
        environment,
        image=interpolate(image, known) if isinstance(image, str) else None,
        path_map=tuple(_volumes(mounts if isinstance(mounts, list) else (), known)),
        directory=service.get("working_dir"),
        service=name,
        line=service.lines.get("command"),
    )
    entrypoint = _words(service.get("entrypoint"), known)
    tracer.container(process, entrypoint, _words(service.get("command"), known) or ())


def _words(value: Any, known: Mapping[str, str]) -> tuple[str, ...] | None:
    if isinstance(value, str):
        return tuple(split_shell_words(interpolate(value, known)))
    if isinstance(value, YamlList):
        return tuple(interpolate(text, known) for text in value.texts)
    return None


def _env_files(value: Any) -> Iterator[str]:
    for item in value if isinstance(value, list) else [value]:
        path = item.get("path") if isinstance(item, dict) else item
        if isinstance(path, str):
            yield path


def _read_env_file(
    name: str, tracer: Tracer, known: Mapping[str, str]
) -> Iterator[tuple[str, Variable]]:
    text = tracer.files.read(name)
    if text is None:
        tracer.missing.append(name)
        return
    for line in read_dotenv(text, name, known):
        value = known.get(line.name) if line.value is None else line.value
        if value is not None:
            yield line.name, variable(line.name, value, name, line.line)


def _read_environment(
    value: Any, tracer: Tracer, known: Mapping[str, str]
) -> Iterator[tuple[str, Variable]]:
    """Yield the variables of `environment:`; one without a value is passed through."""
    entries: Sequence[tuple[str, str | None, int]] = ()
    if isinstance(value, YamlMap):
        entries = [(key, value.text(key), value.lines[key]) for key in value]
    elif isinstance(value, YamlList):
        split = [text.partition("=") for text in value.texts]
        entries = [
            (key, text if equals else None, line)
            for (key, equals, text), line in zip(split, value.lines, strict=True)
        ]
    for key, text, line in entries:
        name = interpolate(key, known)
        shown = known.get(name, f"${{{name}}}") if text is None else interpolate(text, known)
        yield name, variable(name, shown, tracer.path, line)


def _volumes(mounts: Sequence[Any], known: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    for mount in mounts:
        if isinstance(mount, str):
            yield from containers.read_volume(interpolate(mount, known))
        elif isinstance(mount, dict) and mount.get("type", "bind") == "bind":
            source, target = mount.get("source"), mount.get("target")
            if isinstance(source, str) and isinstance(target, str):
                yield target, interpolate(source, known)


def interpolate(text: str, known: Mapping[str, str]) -> str:
    """Replace `$NAME` and `${NAME…}` as Compose does; what is not set stays a marker."""
    shown = []
    at = 0
    while (match := _REFERENCE.search(text, at)) is not None:
        shown.append(text[at : match.start()])
        at = match.end()
        if match.group() == "$$":
            shown.append("$")
        elif match.group(1):
            shown.append(known.get(match.group(1), f"${{{match.group(1)}}}"))
        else:
            end = _closing(text, match.start() + 2)
            inner = text[match.end(2) : end]
            at = end + 1
            shown.append(_substituted(match.group(2), inner, known))
    return "".join(shown) + text[at:]


def _closing(text: str, at: int) -> int:
    """Return where the brace that was opened before `at` closes."""
    depth = 1
    while at < len(text):
        if text.startswith("${", at):
            depth += 1
            at += 1
        elif text[at] == "}":
            depth -= 1
            if depth == 0:
                return at
        at += 1
    return len(text)


def _substituted(name: str, rest: str, known: Mapping[str, str]) -> str:
    value = known.get(name)
    operation = _OPERATION.fullmatch(rest)
    if operation is None:
        return f"${{{name}}}" if value is None else value
    operator, word = operation.groups()
    unset = value is None or (operator[0] == ":" and not value)
    if operator[-1] == "+":
        return "" if unset else interpolate(word, known)
    if not unset:
        return value or ""
    return interpolate(word, known) if operator[-1] == "-" else f"${{{name}}}"
