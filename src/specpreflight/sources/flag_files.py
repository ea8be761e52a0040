"""Files that hold flags without a command: a list of them, or variables that become flags."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from specpreflight.models.command import variable
from specpreflight.models.launch import Variable
from specpreflight.sources.assignment import Assignment
from specpreflight.sources.dotenv import read_dotenv
from specpreflight.sources.engine_config import flag_name, is_telling
from specpreflight.sources.entry_points import Entry, engine_of_flags
from specpreflight.sources.processes import Process, Tracer
from specpreflight.sources.text_words import split_shell_words

_ASSIGNMENT = re.compile(r"(?:export\s+)?[A-Za-z_]\w*=")
_SPECULATIVE = re.compile(r"SPECULATIVE_")
#: What begins so may be a variable of the engine itself; what has no prefix, anything.
_ENGINE_PREFIXES = ("", "VLLM_", "SGLANG_")
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
    """Say whether every line sets a variable, and some of them are an engine's flags."""
    lines = _lines(text)
    if not lines or not all(_ASSIGNMENT.match(line) for line in lines):
        return False
    names = [line.removeprefix("export ").partition("=")[0].strip() for line in lines]
    return any(map(_ARGUMENTS.fullmatch, names)) or _flag_prefix(names) is not None


def _flag_prefix(names: Sequence[str]) -> str | None:
    """Return the prefix without which two variables or more are named like flags."""
    prefixes = {name.partition("_")[0] + "_" for name in names} | {""}
    for prefix in sorted(prefixes, key=len, reverse=True):
        flags = [name.removeprefix(prefix) for name in names if name.startswith(prefix)]
        if sum(is_telling(name) for name in flags) >= 2 and any(map(_SPECULATIVE.match, flags)):
            return prefix
    return None


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
        entry = Entry(engine_of_flags(words), f"(none; {carrier.name})", tuple(words))
        rest = [line for line in lines if line is not carrier]
        _found(entry, rest, prefix if prefix else None, carrier.line, tracer)
    prefix_of_flags = _flag_prefix([line.name for line in lines])
    if not carriers and prefix_of_flags is not None:
        names = [line.name.removeprefix(prefix_of_flags) for line in lines]
        engine = engine_of_flags(["--" + flag_name(name) for name in names])
        _found(Entry(engine, "(none)", ()), lines, prefix_of_flags, 1, tracer)


def _found(
    entry: Entry, lines: Sequence[Assignment], prefix: str | None, place: int, tracer: Tracer
) -> None:
    """Note a launch whose variables with the prefix are flags (none, if it is `None`)."""
    settings: dict[str, str] = {}
    environment: dict[str, Variable] = {}
    for line in lines:
        flag = line.name.removeprefix(prefix) if prefix is not None else ""
        is_flag = prefix is not None and line.name.startswith(prefix)
        if is_flag and (prefix not in _ENGINE_PREFIXES or is_telling(flag)):
            settings[flag] = line.value or ""
        else:
            environment[line.name] = variable(line.name, line.value, tracer.path, line.line)
    tracer.found(entry, Process((), environment, line=place), settings)
