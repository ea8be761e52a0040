"""`specpreflight launch`: what was understood of a launch, before anybody checks it."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import click

from specpreflight.cli.check import WordsCommand
from specpreflight.conditions import merged_words
from specpreflight.errors import UsageError
from specpreflight.models.argument_parser import Option, canonical_flags
from specpreflight.models.command import Command
from specpreflight.models.launch import Variable
from specpreflight.models.secrets import redact, redact_words
from specpreflight.reports.printable import printable

#: Flags that no start of speculation depends on: addresses, parsers, templates, logs, metrics.
_ASIDE = re.compile(
    r"(no-)?("
    r"host|port|served-model-name|api-key|uvicorn-.*|ssl-.*|allow(ed)?-(credentials|origins|methods"
    r"|headers)|root-path|middleware|tool-call-parser|tool-parser-plugin|reasoning-parser(-plugin)?"
    r"|enable-reasoning|enable-auto-tool-choice|tool-server|chat-template(-.*)?|completion-template"
    r"|response-role|preferred-sampling-params|sampling-defaults|random-seed|seed|stream-interval"
    r"|stream-output|log-.*|enable-log-.*|disable-log-.*|decode-log-interval|show-time-cost"
    r"|enable-metrics.*|enable-request-time-stats-logging|crash-dump-folder|collect-tokens-histogram"
    r"|bucket-.*|otlp-.*|enable-trace|disable-uvicorn-access-log|enable-cache-report|warmups"
    r"|mm-encoder-tp-mode|limit-mm-per-prompt|disable-fastapi-docs|h11-.*|help|version"
    r")"
)
_DRAFT_FLAGS = ("speculative-draft-model-path", "draft-model-path", "speculative-model")


@click.command(cls=WordsCommand)
@click.argument("file", required=False, metavar="[FILE|-] [-- COMMAND | SCRIPT ARGUMENTS]")
@click.option(
    "--engine",
    metavar="NAME[@VERSION]",
    help="Engine and release whose flags are read; else what the launch names, or the newest.",
)
@click.option(
    "--env",
    "settings",
    multiple=True,
    metavar="NAME=VALUE",
    help="What the caller's shell would supply, byte for byte.",
)
@click.option("--env-file", "env_files", multiple=True, type=click.Path(path_type=Path))
@click.option(
    "--files",
    "folders",
    multiple=True,
    type=click.Path(path_type=Path),
    metavar="DIR",
    help="Where files that the launch names lie, if not where it says.",
)
@click.option("--format", "form", type=click.Choice(["text", "json"]), default="text")
@click.pass_context
def launch(
    ctx: click.Context,
    /,
    file: str | None,
    engine: str | None,
    settings: tuple[str, ...],
    env_files: tuple[Path, ...],
    folders: tuple[Path, ...],
    form: str,
) -> None:
    """Print what is understood of a launch: engine, arguments, flags, variables, paths.

    FILE is a script, compose file, manifest, unit, batch job, `--config` file or Python launcher
    (`-` is stdin); what follows `--` are a script's arguments, or without FILE the command itself.

    \b
      specpreflight launch serve.sh --env MODEL=org/model -- --dp 2
      specpreflight launch compose.yaml --format json
      specpreflight launch -- docker run … vllm/vllm-openai --model org/model …
    """
    from specpreflight.sources.environment import read_environment

    caller = read_environment(None, env_files, settings)
    environment = {name: known.value or "" for name, known in caller.items()}
    command = _read(file, ctx.meta["words"], environment, folders)
    described = describe(command, engine)
    click.echo(
        json.dumps(described, indent=2, ensure_ascii=False)
        if form == "json"
        else (render(command, described))
    )


def _read(
    file: str | None,
    words: list[str] | None,
    environment: Mapping[str, str],
    folders: Sequence[Path],
) -> Command:
    from specpreflight.sources import launch_command

    if file is None and not words:
        raise UsageError(
            "no launch given",
            hint="specpreflight launch FILE, or: specpreflight launch -- sglang serve …",
        )
    if file is None:
        return launch_command.read_launch(words or (), environment=environment, folders=folders)
    if file == "-":
        return launch_command.read_launch_text(
            sys.stdin.read(), arguments=words or (), environment=environment
        )
    return launch_command.read_launch_file(
        Path(file), arguments=words or (), environment=environment, folders=folders, given=file
    )


def describe(command: Command, engine: str | None = None) -> dict[str, Any]:
    """Return a launch as JSON data; the other launches of its file stand under `others`."""
    flags = _flags(command, engine)
    return {
        "engine": command.engine,
        "engine_version": command.engine_version,
        "image": command.image,
        "form": command.form,
        "entry": command.entry,
        "command_index": command.command_index,
        "service": command.service,
        "line": command.line,
        "argv": redact_words(command.argv),
        "flags": {
            name: redact(name, value) for name, value in flags.items() if not _ASIDE.fullmatch(name)
        },
        "env": _values(command.environment),
        "paths": _paths(flags),
        "unresolved": list(command.unresolved),
        "lost": [lost.words[0] for lost in command.lost],
        "unexported": _values(command.unexported),
        "interpreter": command.interpreter,
        "directory": command.directory,
        "volumes": dict(command.path_map),
        "notes": list(command.notes),
        "others": [
            {
                "command_index": other.command_index,
                "engine": other.engine,
                "service": other.service,
                "argv": redact_words(other.argv),
                "env": _values(other.environment),
                "paths": _paths(_flags(other, engine)),
            }
            for other in command.others
        ],
    }


def _values(variables: Sequence[Variable]) -> dict[str, str | None]:
    return {
        variable.name: redact(variable.name, variable.value)
        for variable in sorted(variables, key=lambda v: v.name)
    }


# Flags


def _flags(command: Command, engine: str | None) -> dict[str, Any]:
    """Return the flags by the engine's own names; vLLM's JSON values parsed."""
    words = [*_setting_words(command), *merged_words(command, _release(command, engine))]
    if command.engine == "vllm":
        flags = canonical_flags(words, _vllm_options(command, engine), underscores=True)
        return {name: _json_value(value) for name, value in flags.items()}
    return canonical_flags(words, _sglang_options(command, engine))


def _setting_words(command: Command) -> list[str]:
    """Return the flags that a launch gives as variables, as words."""
    return [
        word
        for name, value in command.settings.items()
        for word in ("--" + name.lower().replace("_", "-"), value)
    ]


def _json_value(value: Any) -> Any:
    if isinstance(value, str) and value.lstrip()[:1] in ("{", "["):
        try:
            return json.loads(value)
        except ValueError:
            return value
    return value


def _release(command: Command, engine: str | None) -> str:
    """Return the release whose flags are read: asked for, named by the image, or the newest."""
    from specpreflight.engines.registry import find_engine

    name, _, wanted = (engine or "").partition("@")
    found = find_engine(name or command.engine or "sglang")
    if engine is not None:
        return found.identify(wanted or None).version
    try:
        return found.identify(command.engine_version).version
    except UsageError:
        return found.identify(None).version


def _sglang_options(command: Command, engine: str | None) -> tuple[Option, ...]:
    from specpreflight.engines.sglang.arguments import options_for_words

    words = [*command.argv, *_setting_words(command)]
    return options_for_words(words, _release(command, engine))


def _vllm_options(command: Command, engine: str | None) -> tuple[Option, ...]:
    from specpreflight.engines.vllm.knowledge import Knowledge

    flags = dict.fromkeys(Knowledge(_release(command, engine)).flags.values())
    known = tuple(
        Option(flag.names, flag.dest, flag.type, flag.action, flag.nargs) for flag in flags
    )
    return (*known, Option((), "model", nargs="?"))


def _paths(flags: Mapping[str, Any]) -> dict[str, str | None]:
    speculative = flags.get("speculative-config")
    draft = speculative.get("model") if isinstance(speculative, dict) else None
    draft = draft or flags.get("speculative-config.model")
    draft = draft or next((flags[name] for name in _DRAFT_FLAGS if name in flags), None)
    target = flags.get("model-path", flags.get("model"))
    return {
        "target": target if isinstance(target, str) else None,
        "draft": draft if isinstance(draft, str) and not draft.startswith("[") else None,
    }


# Text


def render(command: Command, described: Mapping[str, Any]) -> str:
    """Return the launch for a reader at a terminal."""
    return "\n".join(map(printable, _lines(command, described)))


def _lines(command: Command, described: Mapping[str, Any]) -> Iterator[str]:
    where = "" if command.line is None else f" (line {command.line})"
    release = f" {command.engine_version}" if command.engine_version else ""
    yield f"{command.engine or 'unknown engine'}{release} · {command.entry} · {command.form}{where}"
    for name, path in described["paths"].items():
        yield f"  {name:<7} {path or '(none)'}"
    yield "flags"
    width = max(map(len, described["flags"]), default=0)
    for name, value in described["flags"].items():
        yield f"  --{name:<{width}}  {_shown(value)}".rstrip()
    if command.environment:
        yield "environment"
        for variable in sorted(command.environment, key=lambda found: found.name):
            line = variable.origin.line
            place = f"  ({variable.origin.path}:{line})" if line else ""
            yield f"  {variable.name}={redact(variable.name, variable.value)}{place}"
    for lost in command.lost:
        yield f"lost: line {lost.line}: {' '.join(lost.words)}"
    if command.unresolved:
        yield "not known: " + ", ".join(command.unresolved)
    for note in command.notes:
        yield f"note: {note}"
    for other in command.others:
        yield f"also starts: {other.engine} · {other.entry} (launch {other.command_index})"


def _shown(value: Any) -> str:
    """Return a flag's value as words, or as JSON where it is no text."""
    if value is True:
        return ""
    if isinstance(value, list) and all(isinstance(item, str) for item in value):
        return " ".join(value)
    return json.dumps(value) if isinstance(value, (dict, list)) else str(value)
