"""Files of `NAME=VALUE` lines, in the two dialects people call "env file".

`docker run --env-file` takes a line literally: quotes, trailing comments and blanks belong to the
value (docker/cli, `pkg/kvfile`). "dotenv" readers unquote, cut comments, drop `export` and expand
`${NAME}` (python-dotenv, `parser.py` and `variables.py`; Compose's `env_file` agrees except where
noted). The same four lines are different values, so every reading says which dialect it is and
where the other one would have read something else.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final, Literal, NamedTuple

from specpreflight.errors import InputError
from specpreflight.sources.assignment import Assignment
from specpreflight.sources.dotenv import read_dotenv
from specpreflight.sources.text_file import read_text_file

Dialect = Literal["docker", "dotenv"]
DIALECTS: Final[tuple[Dialect, ...]] = ("dotenv", "docker")


class EnvFile(NamedTuple):
    """A file to read and its dialect; `given` is the path as the user wrote it."""

    path: Path
    dialect: Dialect
    given: str


def parse_env_file_option(text: str) -> EnvFile:
    """Split `[docker:|dotenv:]PATH`; without a prefix, or if such a file exists, it is dotenv."""
    for dialect in DIALECTS:
        prefix = f"{dialect}:"
        if text.startswith(prefix) and not Path(text).exists():
            return EnvFile(Path(text[len(prefix) :]), dialect, text[len(prefix) :])
    return EnvFile(Path(text), "dotenv", text)


def read_env_file(file: EnvFile, process: Mapping[str, str] | None = None) -> list[Assignment]:
    """Read an env file; `process` answers what the file leaves to the surrounding environment.

    Raises:
        InputError: it is missing, unreadable, too large, not UTF-8, or (docker's dialect) has a
            line that docker refuses.
    """
    text = read_text_file(file.path, file.given)
    surroundings = {} if process is None else process
    if file.dialect == "docker":
        return list(read_docker_lines(text, file.given, surroundings))
    return list(read_dotenv(text, file.given, surroundings))


def read_docker_lines(text: str, given: str, process: Mapping[str, str]) -> Iterator[Assignment]:
    """Restate docker/cli `pkg/kvfile/kvfile.go:parseKeyValueFile` (Go's scanner drops the CR)."""
    for number, raw in enumerate(text.split("\n"), start=1):
        line = raw.removesuffix("\r").lstrip(" \t")
        if not line or line.startswith("#"):
            continue
        name, equals, value = line.partition("=")
        if not name:
            raise InputError(
                f"{given}:{number}: no variable name on this line; docker refuses the file",
                hint="write NAME=VALUE",
            )
        if " " in name or "\t" in name:
            raise InputError(
                f"{given}:{number}: variable '{name}' contains whitespaces, docker refuses it",
                hint="docker's env files know no `export` and no blanks around `=`; "
                "or read it as dotenv:PATH",
            )
        column = len(raw) - len(raw.lstrip(" \t")) + 1
        if equals:
            yield Assignment(name, value, number, column, _docker_differs(value))
        elif name in process:
            yield Assignment(name, process[name], number, column, "copied from the process")


def _docker_differs(value: str) -> str:
    if len(value) > 1 and value[0] == value[-1] and value[0] in "'\"":
        return "docker keeps the quotes; dotenv readers and shells drop them"
    if re.search(r"\s#", value):
        return "docker keeps the comment; dotenv readers and shells cut it off"
    if "${" in value:
        return "docker keeps `${…}`; dotenv readers expand it"
    if value != value.strip():
        return "docker keeps the blanks; dotenv readers drop them"
    return ""
