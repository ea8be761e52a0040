"""Files that hold flags without a command: a list of them, or variables that become flags."""

from __future__ import annotations

import re
from collections.abc import Mapping

from specpreflight.models.command import variable
from specpreflight.sources.dotenv import read_dotenv
from specpreflight.sources.entry_points import Entry, engine_of_flags
from specpreflight.sources.processes import Process, Tracer
from specpreflight.sources.text_words import split_shell_words

_ASSIGNMENT = re.compile(r"(?:export\s+)?[A-Za-z_]\w*=")
_ARGUMENTS = re.compile(r"(\w*?_?)((?:EXTRA|SERVER|ENGINE|SGLANG|VLLM|ADDITIONAL)_?)?ARGS")


def _lines(text: str) -> list[str]:
    stripped = (line.strip() for line in text.splitlines())
    return [line for line in stripped if line and not line.startswith("#")]


def is_flag_list(text: str) -> bool:
    """Say whether every line begins with a flag."""
    lines = _lines(text)
    return bool(lines) and all(re.match(r"--?[A-Za-z]", line) for line in lines)


def read_flag_list(
    text: str, tracer: Tracer, given: Mapping[str, str], arguments: tuple[str, ...]
) -> None:
    """Take all lines together as the engine's arguments."""
    joined = " ".join(line.removesuffix("\\") for line in _lines(text))
    words = split_shell_words(joined)
    tracer.found(Entry(engine_of_flags(words), "(none)", tuple(words)), Process((), line=1))


def is_env_file(text: str) -> bool:
    """Say whether every line sets a variable, one of them the engine's arguments."""
    lines = _lines(text)
    return (
        bool(lines)
        and all(_ASSIGNMENT.match(line) for line in lines)
        and any(re.match(r"\w*ARGS=", line) for line in lines)
    )


def read_env_file(
    text: str, tracer: Tracer, given: Mapping[str, str], arguments: tuple[str, ...]
) -> None:
    """Read variables that a unit or script turns into flags: `SG_EXTRA_ARGS`, `SG_MODEL`.

    The variable that ends in `ARGS` holds the arguments. Others with the same prefix stand for
    flags of their own, whose spelling only the unit knows, so they are no part of `argv`.
    """
    lines = list(read_dotenv(text, tracer.path or "", given))
    carriers = [line for line in lines if _ARGUMENTS.fullmatch(line.name) and line.value]
    for carrier in carriers:
        match = _ARGUMENTS.fullmatch(carrier.name)
        prefix = match.group(1) if match else ""
        words = split_shell_words(carrier.value or "")
        environment = {
            line.name: variable(line.name, line.value, tracer.path, line.line)
            for line in lines
            if not (prefix and line.name.startswith(prefix)) and line is not carrier
        }
        settings = {
            line.name.removeprefix(prefix): line.value or ""
            for line in lines
            if prefix and line.name.startswith(prefix) and line is not carrier
        }
        engine = engine_of_flags(words)
        entry = Entry(engine, f"(none; {carrier.name})", tuple(words))
        process = Process((), environment, line=carrier.line)
        tracer.found(entry, process, settings)
