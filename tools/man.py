"""The manual page, from the commands themselves: what `--help` says, in the form of man(7)."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator

import click

from specpreflight import __version__
from specpreflight.cli import main


def manual_page() -> str:
    """Return specpreflight(1)."""
    context = click.Context(main, info_name="specpreflight")
    lines = [
        f'.TH SPECPREFLIGHT 1 "" "specpreflight {__version__}" "User Commands"',
        ".SH NAME",
        "specpreflight \\- preflight validator for speculative-decoding launches",
        ".SH SYNOPSIS",
        ".B specpreflight",
        "COMMAND [OPTION]... [ARGUMENT]...",
        ".SH DESCRIPTION",
        *_paragraphs(main.help or ""),
        ".SH COMMANDS",
        *(line for name in main.list_commands(context) for line in _command(context, name)),
        ".SH EXIT STATUS",
        *(line for code, text in _EXIT_CODES.items() for line in (".TP", f".B {code}", text)),
    ]
    return "\n".join(lines) + "\n"


_EXIT_CODES = {
    0: "would start: nothing at or above --fail-on",
    1: "findings; after --fix, what is left",
    2: "the command line or the configuration is wrong",
    3: "an internal error, or a rule that failed",
    4: "an input is missing or unreadable",
}


def _command(parent: click.Context, name: str) -> Iterator[str]:
    """Yield a command's section, then those of the commands in it."""
    group = parent.command
    if not isinstance(group, click.Group):
        return
    command = group.get_command(parent, name)
    if command is None or command.hidden:
        return
    context = click.Context(command, info_name=name, parent=parent)
    usage = " ".join(command.collect_usage_pieces(context))
    yield f".SS {_text(context.command_path)} {_text(usage)}"
    yield from _paragraphs(command.help or "")
    for parameter in command.get_params(context):
        record = parameter.get_help_record(context)
        if isinstance(parameter, click.Option) and record is not None:
            option, text = record
            yield ".TP"
            yield f".B {_text(option)}"
            yield _text(text) or "\\&"
    if isinstance(command, click.Group):
        for inner in command.list_commands(context):
            yield from _command(context, inner)


def _paragraphs(text: str) -> Iterator[str]:
    """Yield a docstring's paragraphs; one that begins with `\\b` keeps its lines."""
    for paragraph in re.split(r"\n\s*\n", inspect.cleandoc(text)):
        yield ".PP"
        if paragraph.startswith("\b"):
            yield ".nf"
            yield from map(_text, paragraph.splitlines()[1:])
            yield ".fi"
        else:
            yield _text(" ".join(paragraph.split()))


def _text(text: str) -> str:
    """Return text as roff takes it: no line begins a request, `-` and backslash are themselves."""
    escaped = text.replace("\\", "\\e").replace("-", "\\-")
    return f"\\&{escaped}" if escaped.startswith((".", "'")) else escaped
