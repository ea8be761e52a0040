"""Launch commands as people keep them: a command line, a script, a manifest, a unit.

`read_launch` takes the words of one command, `read_launch_file` a file, `read_launch_text` text
from elsewhere; all give one `Command`, the launch that says most about speculation, with the
file's other engine launches in `others`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from specpreflight.errors import InputError
from specpreflight.models.command import Command
from specpreflight.sources.entry_points import Entry, engine_of_flags
from specpreflight.sources.launch_files import LaunchFiles
from specpreflight.sources.processes import Process, Tracer
from specpreflight.sources.text_file import read_text_file

_SPECULATIVE = re.compile(r"--?(no-)?spec(ulative|_)|--num[-_]speculative|--.*draft")


def read_launch(
    words: Sequence[str],
    *,
    environment: Mapping[str, str] | None = None,
    folders: Sequence[Path] = (),
) -> Command:
    """Understand one command line, given as words (after `--`).

    Words that begin with a flag are the engine's arguments alone, a single word of JSON is the
    keyword arguments of vLLM's `LLM(...)`. `environment` is what the
    caller's shell would supply; it fills `${NAME}`, but is no part of the launch. `folders` are
    searched for files that the command names.

    Raises:
        InputError: no engine is started by these words.
    """
    tracer = Tracer(files=LaunchFiles(folders=tuple(folders)))
    if len(words) == 1 and words[0].lstrip().startswith("{"):
        return read_launch_text(words[0], "the JSON after `--`", environment=environment)
    if words and words[0].startswith("-"):
        tracer.found(Entry(engine_of_flags(words), "(none)", tuple(words)), Process(tuple(words)))
    else:
        tracer.follow(Process(tuple(words), given=dict(environment or {})))
    return _chosen(tracer, "arguments", "the command line")


def read_launch_file(
    path: Path,
    *,
    arguments: Sequence[str] = (),
    environment: Mapping[str, str] | None = None,
    folders: Sequence[Path] = (),
    given: str | None = None,
) -> Command:
    """Understand a file that holds a launch; `arguments` are the positional ones of a script.

    Raises:
        InputError: it cannot be read, or starts no engine.
    """
    text = read_text_file(path, given)
    return read_launch_text(
        text,
        given or str(path),
        arguments=arguments,
        environment=environment,
        files=LaunchFiles(path, tuple(folders)),
    )


def read_launch_text(
    text: str,
    name: str = "<stdin>",
    *,
    arguments: Sequence[str] = (),
    environment: Mapping[str, str] | None = None,
    files: LaunchFiles | None = None,
) -> Command:
    """Understand text that holds a launch, as `read_launch_file` does; `name` is for messages."""
    from specpreflight.sources.launch_forms import find_form

    form, read = find_form(text, name)
    given = dict(environment or {})
    for assume_set in (False, True):
        tracer = Tracer(name, files or LaunchFiles(), assume_set)
        read(text, tracer, given, tuple(arguments))
        if tracer.commands:
            break
    return _chosen(tracer, form, name)


def _chosen(tracer: Tracer, form: str, name: str) -> Command:
    """Return the launch to describe, with the others, and what was lost on the way."""
    if not tracer.commands:
        hint = "an engine is started by `sglang serve`, `python -m sglang.launch_server`, …"
        lost = f" ({tracer.lost[0].words[0]!r} stands alone)" if tracer.lost else ""
        raise InputError(f"{name}: no launch of SGLang or vLLM found{lost}", hint=hint)
    numbered = [
        replace(
            command,
            form=command.form if command.form != "arguments" else form,
            command_index=at,
            unresolved=tuple(sorted({*command.unresolved, *tracer.missing})),
            lost=tuple(tracer.lost),
            notes=(*command.notes, *tracer.notes),
        )
        for at, command in enumerate(_with_config(found, tracer) for found in tracer.commands)
    ]
    chosen = choose_command(numbered)
    return replace(chosen, others=tuple(other for other in numbered if other is not chosen))


def choose_command(commands: Sequence[Command]) -> Command:
    """Return the launch that says most about speculation, the first of several."""
    return max(commands, key=_speculation)


def _with_config(command: Command, tracer: Tracer) -> Command:
    if "--config" not in command.argv:
        return command
    from specpreflight.sources.engine_config import read_config

    config, missing = read_config(command.argv, tracer.files)
    unresolved = (*command.unresolved, missing) if missing else command.unresolved
    return replace(command, config=config, unresolved=unresolved)


def _speculation(command: Command) -> int:
    return sum(bool(_SPECULATIVE.match(word)) for word in command.argv)
