"""Windows batch files and PowerShell scripts, as far as they hand words to a program.

A batch file's words are split the way a C program's run time does it (Microsoft, "Parsing C
command-line arguments"), PowerShell's are rewritten into their shell equivalents.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from specpreflight.models.command import variable
from specpreflight.models.launch import Variable
from specpreflight.sources.processes import Process, Tracer

_SET = re.compile(r'\s*set\s+(?:"([^="]+)=([^"]*)"|([^=\s"]+)=(.*))', re.IGNORECASE)
_COMMENT = re.compile(r"\s*(?:rem\b|::|@?echo\b|:\w|goto\b|pause\b|setlocal\b|cd\b)", re.IGNORECASE)
_REFERENCE = re.compile(r"%([A-Za-z_]\w*)%")
_POWERSHELL = re.compile(r"^\s*\$(env:)?\w+\s*=|`\s*$", re.MULTILINE)


def is_batch(text: str) -> bool:
    """Say whether a text is a batch file."""
    return re.search(
        r"\^\s*$|^\s*(@echo off|rem\b|set \w+=\S)", text, re.M | re.I
    ) is not None and ("%" in text or "^\n" in text or "@echo" in text.lower())


def read_batch(
    text: str, tracer: Tracer, given: Mapping[str, str], arguments: tuple[str, ...]
) -> None:
    """Follow the commands of a batch file, or of a PowerShell script."""
    if _POWERSHELL.search(text) and "^\n" not in text:
        tracer.run_script(_as_shell(text), Process((), given=given), arguments)
        return
    environment: dict[str, Variable] = {}
    for line, number in _joined_lines(text):
        expanded = _REFERENCE.sub(lambda found: _value(found.group(1), environment, given), line)
        setting = _SET.fullmatch(expanded)
        if setting is not None:
            name = setting.group(1) or setting.group(3)
            value = setting.group(2) if setting.group(1) else setting.group(4)
            environment[name] = variable(name, value, tracer.path, number)
        elif not _COMMENT.match(expanded):
            words = tuple(split_words(expanded.strip().removeprefix("@")))
            words = words[1:] if words[:1] and words[0].lower() in ("start", "call") else words
            tracer.follow(Process(words, environment, given, line=number))


def _value(name: str, environment: Mapping[str, Variable], given: Mapping[str, str]) -> str:
    if name in environment:
        return environment[name].value or ""
    return given.get(name, f"${{{name}}}")


def _joined_lines(text: str) -> Iterator[tuple[str, int]]:
    pending = ""
    start = 1
    for number, line in enumerate(text.splitlines(), start=1):
        start = start if pending else number
        line = line.rstrip()
        if line.endswith("^"):
            pending += line[:-1] + " "
            continue
        yield pending + line, start
        pending = ""
    if pending:
        yield pending, start


def split_words(line: str) -> Iterator[str]:
    r"""Yield the arguments of a command line: `\"` is a quote, blanks split outside quotes."""
    word: list[str] = []
    started = quoted = False
    at = 0
    while at < len(line):
        character = line[at]
        if character == "\\":
            count = len(line[at:]) - len(line[at:].lstrip("\\"))
            at += count
            if line[at : at + 1] != '"':
                word.append("\\" * count)
            else:
                word.append("\\" * (count // 2))
                if count % 2:
                    word.append('"')
                    at += 1
            started = True
            continue
        if character == '"':
            quoted = not quoted
            started = True
        elif character in " \t" and not quoted:
            if started:
                yield "".join(word)
            word, started = [], False
        else:
            word.append(character)
            started = True
        at += 1
    if started:
        yield "".join(word)


def _as_shell(text: str) -> str:
    """Rewrite PowerShell's continuation and variables."""
    text = re.sub(r"`\s*$", r"\\", text, flags=re.MULTILINE)
    text = re.sub(r"^\s*\$env:(\w+)\s*=\s*", r"export \1=", text, flags=re.MULTILINE)
    text = re.sub(r"^\s*\$(\w+)\s*=\s*", r"\1=", text, flags=re.MULTILINE)
    return re.sub(r"\$\{?env:(\w+)\}?", r"${\1}", text)
