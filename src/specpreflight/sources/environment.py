"""The environment a launch is checked with: the process, then env files, then `--env`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from specpreflight.errors import UsageError
from specpreflight.models.finding import Origin
from specpreflight.models.launch import Variable


def read_environment(
    process: Mapping[str, str] | None,
    env_files: Sequence[str | Path],
    settings: Sequence[str],
) -> dict[str, Variable]:
    """Merge the environment's sources; a later one wins: process, env files in order, `--env`.

    Args:
        process: the process environment, or `None` for `--no-env`.
        env_files: paths, each perhaps with a dialect in front (`docker:PATH`, `dotenv:PATH`).
        settings: `NAME=VALUE` texts, taken byte for byte.

    Raises:
        InputError: an env file cannot be read.
        UsageError: a setting is not `NAME=VALUE`.
    """
    merged = read_process(process or {})
    for given in env_files:
        known = {name: known.value or "" for name, known in merged.items()}
        merged.update(read_env_variables(str(given), known)[0])
    merged.update(read_settings(settings))
    return merged


def read_env_variables(
    given: str, surroundings: Mapping[str, str]
) -> tuple[dict[str, Variable], list[str]]:
    """Read one env file; return its variables, and where the other dialect reads otherwise.

    Raises:
        InputError: it cannot be read, or docker refuses a line.
    """
    from specpreflight.sources.env_file import parse_env_file_option, read_env_file

    file = parse_env_file_option(given)
    variables, notes = {}, []
    for line in read_env_file(file, surroundings):
        if line.value is None:
            continue
        origin = Origin("file", path=file.given, line=line.line, column=line.column)
        variables[line.name] = Variable(line.name, line.value, origin)
        if line.note:
            notes.append(f"{file.given}:{line.line}, read as {file.dialect}: {line.note}")
    return variables, notes


def read_process(process: Mapping[str, str]) -> dict[str, Variable]:
    """Give every variable of a process the origin "environment"."""
    return {
        name: Variable(name, value, Origin("environment", name=name))
        for name, value in process.items()
    }


def read_settings(settings: Iterable[str]) -> dict[str, Variable]:
    """Read `--env NAME=VALUE` options; the value is kept byte for byte.

    Raises:
        UsageError: no `=`, or nothing in front of it.
    """
    read = {}
    for setting in settings:
        name, equals, value = setting.partition("=")
        if not equals or not name:
            raise UsageError(
                f"--env {setting}: not NAME=VALUE",
                hint="write --env NCCL_PROTO=LL; an empty value is --env NCCL_PROTO=",
            )
        read[name] = Variable(name, value, Origin("flag", name="--env"))
    return read
