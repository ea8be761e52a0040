"""Which kind of file holds a launch, and who reads it."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

from specpreflight.sources.processes import Process, Tracer

#: Reads a text into a tracer, with the caller's variables and a script's arguments.
Reader = Callable[[str, Tracer, Mapping[str, str], tuple[str, ...]], None]


def find_form(text: str, name: str) -> tuple[str, Reader]:
    """Return the form of a launch file and its reader."""
    return _shell_form(text), read_shell


def read_shell(
    text: str, tracer: Tracer, given: Mapping[str, str], arguments: tuple[str, ...]
) -> None:
    """Read a shell script, or a command as somebody pasted it."""
    tracer.run_script(text, Process((), given=given), arguments)


def _shell_form(text: str) -> str:
    if re.search(r"^#SBATCH\b", text, re.MULTILINE):
        return "sbatch"
    lines = [
        line for line in text.splitlines() if line.strip() and not line.lstrip().startswith("#")
    ]
    if text.startswith("#!"):
        functions = re.search(r"^\s*(function\s+\w+|\w+\s*\(\))\s*\{", text, re.MULTILINE)
        return "benchmark-script" if functions else "shell-script"
    if re.match(r"\s*(sudo\s+)?(docker|podman|nerdctl)\s", text):
        return "docker-run"
    return (
        "shell-multiline"
        if any(line.rstrip().endswith("\\") for line in lines)
        else ("shell-oneline")
    )
