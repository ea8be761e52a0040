"""systemd units: `ExecStart=` with its environment (systemd.service(5), systemd.exec(5))."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from specpreflight.models.command import variable
from specpreflight.models.launch import Variable
from specpreflight.sources import containers
from specpreflight.sources.processes import Process, Tracer

_SETTING = re.compile(r"([A-Za-z0-9-]+)\s*=\s*(.*)", re.DOTALL)
_PREFIXES = "@-:+!|"
_WHOLE_VARIABLE = re.compile(r"\$([A-Za-z_]\w*)")
_INNER_VARIABLE = re.compile(r"\$\$|\$\{([A-Za-z_]\w*)\}")
_ESCAPE = re.compile(
    r"\\(x[0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|U000[0-9a-fA-F]{5}|[0-7]{3}|.)", re.DOTALL
)
_ESCAPES = {"a": "\a", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "s": " ", "t": "\t", "v": "\v"}


@dataclass(frozen=True, slots=True)
class Setting:
    """One `Name=value` of a unit, its continued lines joined."""

    section: str
    name: str
    value: str
    line: int


def is_unit(text: str) -> bool:
    """Say whether a text is a unit that starts something."""
    return re.search(r"^\[(Service|Container)\]\s*$", text, re.MULTILINE) is not None


def read_unit(
    text: str, tracer: Tracer, given: Mapping[str, str], arguments: tuple[str, ...]
) -> None:
    """Follow what a unit starts."""
    environment: dict[str, Variable] = {}
    executions: list[Setting] = []
    directory = None
    container: dict[str, list[str]] = {}
    for setting in read_settings(text):
        if setting.section == "Container":
            container.setdefault(setting.name, []).append(setting.value)
        match setting.name:
            case "Environment" if not setting.value:
                environment.clear()
            case "Environment":
                for word in split_words(setting.value):
                    name, _, value = word.partition("=")
                    environment[name] = variable(name, value, tracer.path, setting.line)
            case "EnvironmentFile":
                environment.update(_read_files(setting.value, tracer))
            case "PassEnvironment":
                for name in setting.value.split():
                    value = given.get(name, f"${{{name}}}")
                    environment[name] = variable(name, value, tracer.path, setting.line)
            case "UnsetEnvironment":
                for name in setting.value.split():
                    environment.pop(name, None)
            case "WorkingDirectory":
                directory = setting.value.lstrip("-~") or None
            case "ExecStart" if not setting.value:
                executions.clear()
            case "ExecStart":
                executions.append(setting)
    known = {name: found.value or "" for name, found in environment.items()}
    process = Process((), environment, directory=directory)
    for setting in executions:
        words = tuple(_expanded(split_words(setting.value.lstrip(_PREFIXES)), known))
        tracer.follow(_at(process, words, setting.line))
    if "Image" in container and not executions:
        _container(container, process, known, tracer)


def _at(process: Process, words: tuple[str, ...], line: int) -> Process:
    return Process(words, process.environment, directory=process.directory, line=line)


def _container(
    settings: Mapping[str, list[str]], process: Process, known: Mapping[str, str], tracer: Tracer
) -> None:
    """Follow a Quadlet unit (podman-systemd.unit(5))."""
    path_map = [
        pair for text in settings.get("Volume", ()) for pair in containers.read_volume(text)
    ]
    words = _expanded(split_words(" ".join(settings.get("Exec", ()))), known)
    tracer.container(
        Process((), process.environment, image=settings["Image"][-1], path_map=tuple(path_map)),
        tuple(settings.get("Entrypoint", ())),
        list(words),
    )


def read_settings(text: str) -> Iterator[Setting]:
    """Yield the settings in order; comment lines inside a continued value are left out."""
    section = ""
    pending = ""
    start = 0
    for number, line in enumerate(text.splitlines(), start=1):
        if line.lstrip().startswith(("#", ";")):
            continue
        if not pending:
            start = number
            if heading := re.fullmatch(r"\s*\[(.+)\]\s*", line):
                section = heading.group(1)
                continue
        pending += line
        if pending.endswith("\\"):
            pending = pending[:-1] + " "
            continue
        if match := _SETTING.fullmatch(pending.strip()):
            yield Setting(section, match.group(1), match.group(2), start)
        pending = ""
    if match := _SETTING.fullmatch(pending.strip()):
        yield Setting(section, match.group(1), match.group(2).strip(), start)


def split_words(text: str) -> list[str]:
    """Split a value into words as `extract_first_word` does, quotes and C escapes undone."""
    words: list[str] = []
    word: str | None = None
    quote = ""
    at = 0
    while at < len(text):
        character = text[at]
        if character == "\\" and quote != "'":
            escape = _ESCAPE.match(text, at)
            if escape is not None:
                word = (word or "") + _unescaped(escape.group(1))
                at = escape.end()
                continue
        if quote:
            if character == quote:
                quote = ""
            else:
                word = (word or "") + character
        elif character in "\"'" and word is None:
            quote = character
            word = ""
        elif character in "\"'":
            quote = character
        elif character.isspace():
            if word is not None:
                words.append(word)
            word = None
        else:
            word = (word or "") + character
        at += 1
    return words if word is None else [*words, word]


def _unescaped(code: str) -> str:
    if code[0] in "xuU" and len(code) > 1:
        return chr(int(code[1:], 16))
    if len(code) == 3:
        return chr(int(code, 8))
    return _ESCAPES.get(code, code)


def _expanded(words: list[str], known: Mapping[str, str]) -> Iterator[str]:
    """Replace variables: `$NAME` as a word of its own is split, `${NAME}` stays one word."""
    for word in words:
        whole = _WHOLE_VARIABLE.fullmatch(word)
        if whole is None:
            yield _INNER_VARIABLE.sub(lambda found: _inner(found, known), word).replace("%%", "%")
        elif whole.group(1) in known:
            yield from split_words(known[whole.group(1)])
        else:
            yield f"${{{whole.group(1)}}}"


def _inner(found: re.Match[str], known: Mapping[str, str]) -> str:
    name = found.group(1)
    return "$" if name is None else known.get(name, f"${{{name}}}")


def _read_files(value: str, tracer: Tracer) -> Iterator[tuple[str, Variable]]:
    """Read `EnvironmentFile=`; with a leading `-` it may be missing."""
    name = value.removeprefix("-")
    text = tracer.files.read(name)
    if text is None:
        tracer.missing.append(name)
        return
    lines = re.sub(r"\\\n", "  ", text).splitlines()
    for number, line in enumerate(lines, start=1):
        if line.lstrip().startswith(("#", ";")) or "=" not in line:
            continue
        key, _, raw = line.strip().partition("=")
        yield key.strip(), variable(key.strip(), _file_value(raw.strip()), name, number)


def _file_value(raw: str) -> str:
    """Undo the quotes of a value in an environment file; unquoted text is taken as it is."""
    quoted = re.fullmatch(r"'([^']*)'|\"((?:[^\"\\]|\\.)*)\"", raw, re.DOTALL)
    if quoted is None:
        return raw
    if quoted.group(1) is not None:
        return quoted.group(1)
    return re.sub(r"\\([\"\\$`])", r"\1", quoted.group(2))
