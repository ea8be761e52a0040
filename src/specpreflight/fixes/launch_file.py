"""Write a flag or a variable into the file that starts the engine, in the style of its neighbours.

Scripts, compose files, units and manifests are edited as text: a value that is there is replaced,
and what is new copies the separators of the flag or variable beside it. That knows nothing of the
file's grammar, so the result is read again, and only an edit that changes exactly what was meant
is accepted.
"""

from __future__ import annotations

import re
import shlex
from collections import Counter
from collections.abc import Callable, Iterable, Iterator

from specpreflight.errors import InputError, UsageError
from specpreflight.fixes.launch_change import LaunchChange
from specpreflight.models.command import Command

Read = Callable[[str], Command]

_SHELL_FORMS = frozenset(
    {"shell-script", "shell-multiline", "shell-oneline", "sbatch", "benchmark-script", "docker-run"}
)

#: What can stand between a flag and its value: `=`, blanks, a continued line, the end of one YAML
#: or JSON item and the start of the next.
_BETWEEN = r"""["']?(?:=|\s*,\s*|[ \t]*\\\r?\n\s*|\r?\n\s*-\s+|[ \t]+)["']?"""
#: What can stand before a flag of the same kind: the same, seen from the other side.
_BEFORE = re.compile(r"""(?:,\s*|[ \t]*\\\r?\n\s*|\r?\n[ \t]*-[ \t]+|\r?\n\s*|[ \t]+)["']?$""")
_VALUE = r"""(?:\\.|[^\s"',\\\]])+"""


def edit_launch(text: str, name: str, change: LaunchChange, read: Read) -> str:
    """Return a launch file with the change made, every other character kept.

    Args:
        text: the file's text.
        name: what messages call it.
        change: the flags and variables to set.
        read: understands such a text, as the launch would be read.

    Raises:
        UsageError: there is no place for it that a reading of the result confirms; the hint has
            the lines to add by hand.
    """
    command = read(text)
    for flag, value in change.flags.items():
        only = LaunchChange({flag: value})
        edits = _flag_edits(text, command, flag, value)
        text, command = _first_confirmed(edits, command, read, name, only)
    for variable, value in change.environment.items():
        only = LaunchChange(environment={variable: value})
        edits = _variable_edits(text, command, variable, value)
        text, command = _first_confirmed(edits, command, read, name, only)
    return text


# ------------------------------------------------------------------ flags


def _flag_edits(text: str, command: Command, flag: str, value: str | None) -> Iterator[str]:
    """Yield the ways to set a flag, likeliest first: replace its value, or insert it."""
    start = _line_start(text, command.line)
    present = _find_flag(text, flag, start)
    if present is not None:
        found = re.compile(_BETWEEN + f"({_VALUE})").match(text, present.end("flag"))
        if value is None:
            yield text
        elif found is not None:
            separator = text[present.end("flag") : found.start(1)]
            yield text[: found.start(1)] + _quoted(value, separator) + text[found.end(1) :]
    else:
        yield from _flag_insertions(text, command, flag, value, start)


def _flag_insertions(
    text: str, command: Command, flag: str, value: str | None, start: int
) -> Iterator[str]:
    """Yield the text with a flag before one that is there, spaced as that one and its value are."""
    for neighbour in (word.partition("=")[0] for word in command.argv):
        anchor = _find_flag(text, neighbour, start) if neighbour.startswith("--") else None
        if anchor is None:
            continue
        at = anchor.start("flag")
        before = _BEFORE.search(text, start, at)
        between = re.compile(f"({_BETWEEN}){_VALUE}").match(text, anchor.end("flag"))
        if before is None or (between is None and value is not None):
            continue
        quote = text[anchor.start() : at]
        written = flag + quote
        if value is not None and between is not None:
            separator = between[1]
            closing = separator[-1] if separator[-1] in "\"'" else quote * (separator == "=")
            opening = "" if separator[0] in "\"'=" else quote
            written = flag + opening + separator + _quoted(value, separator) + closing
        yield text[:at] + written + before[0] + text[at:]


def _find_flag(text: str, flag: str, start: int) -> re.Match[str] | None:
    spelled = re.escape(flag)
    pattern = re.compile(rf"""(?<![\w-])["']?(?P<flag>{spelled})(?![\w-])""")
    return next(
        (one for one in pattern.finditer(text, start) if not _is_comment(text, one.start())), None
    )


# ------------------------------------------------------------------ variables


def _variable_edits(text: str, command: Command, name: str, value: str) -> Iterator[str]:
    """Yield the ways to set a variable, likeliest first."""
    there = next((one for one in command.environment if one.name == name), None)
    if there is not None:
        yield from _replacements(text, name, value, _line_start(text, there.origin.line))
        return
    for neighbour in command.environment:
        if neighbour.origin.line is not None and neighbour.origin.path == command.path:
            yield from _copies(text, neighbour.name, name, value, neighbour.origin.line)
    yield from _first_variable(text, command, name, value)


_ASSIGNED = r"""(["']?(?:=|[ \t]*:[ \t]+|[ \t]*\r?\n[ \t]*value:[ \t]*)["']?)"""


#: Up to the end of the word, or of an item in a list between braces or brackets.
_ENDS = (r"(?:\\.|[^\s\"'\\])*", r"(?:\\.|[^\s\"',}\]\\])*")


def _replacements(text: str, name: str, value: str, start: int) -> Iterator[str]:
    for end in _ENDS:
        found = re.compile(rf"\b{name}{_ASSIGNED}({end})").search(text, start)
        if found is not None:
            yield text[: found.start(2)] + _quoted(value, found[1]) + text[found.end(2) :]


def _copies(text: str, neighbour: str, name: str, value: str, line: int) -> Iterator[str]:
    """Yield the text with a line (of a manifest, two) like a neighbour's above it.

    Where more stands on that line, the variable goes before the neighbour on the same line.
    """
    start = _line_start(text, line)
    found = re.compile(
        rf"(?P<lead>[^\n]*?)\b{neighbour}(?P<between>{_ASSIGNED}){_ENDS[0]}"
        r"(?P<closing>[\"']?)(?P<tail>[^\n]*?)(?P<comment>(?<=\s)#[^\n]*)?(?P<newline>\r?\n|$)"
    ).match(text, start)
    if found is None:
        return
    lead, between = found["lead"], found["between"]
    written = name + between + _quoted(value, between)
    if not found["tail"].strip(" \t\\;") and "=" not in lead.replace("Environment=", ""):
        tail = found["tail"].rstrip() if found["comment"] else found["tail"]
        line_end = found["closing"] + tail + found["newline"]
        yield text[:start] + lead + written + line_end + text[start:]
    option = re.compile(r"(?:-e|--env)[ =]$").search(lead)
    opening = lead[-1:] if lead[-1:] in {'"', "'"} else ""
    closing = between[-1] if between[-1] in "\"'" else opening
    at = start + len(lead)
    for separator in (" ", ", "):
        again = separator + (option[0] if option else "") + opening
        yield text[:at] + written + closing + again + text[at:]


def _first_variable(text: str, command: Command, name: str, value: str) -> Iterator[str]:
    """Yield the text with a launch's first variable; of a manifest, that is left to a human."""
    assignment = shlex.quote(value)
    at = _line_start(text, command.line)
    if command.form in _SHELL_FORMS:
        line = f"export {name}={assignment}"
    elif command.form == "systemd":
        line = f'Environment="{name}={value}"'
        executed = re.compile(r"^ExecStart=", re.MULTILINE).search(text)
        at = at if executed is None else executed.start()
    else:
        return
    indent = re.compile(r"[ \t]*").match(text, at)
    ending = "\r\n" if "\r\n" in text else "\n"
    yield text[:at] + (indent[0] if indent else "") + line + ending + text[at:]
    started = re.compile(r"\b(?:docker|podman|nerdctl)\s+run\s+").search(text, at)
    if started is not None:
        yield text[: started.end()] + f"-e {name}={assignment} " + text[started.end() :]


# ------------------------------------------------------------------ reading the result


def _first_confirmed(
    edits: Iterator[str], command: Command, read: Read, name: str, change: LaunchChange
) -> tuple[str, Command]:
    """Return the first edited text whose reading differs in the change alone, and that reading."""
    for edited in edits:
        try:
            result = read(edited)
        except InputError:  # not even readable: this was not the place
            continue
        if _differs_only(command, result, change):
            return edited, result
    raise UsageError(
        f"{name}: no place was found to write it into",
        hint="add by hand: " + "  ".join(change.lines()),
    )


def _differs_only(before: Command, after: Command, change: LaunchChange) -> bool:
    environment = {one.name: one.value for one in before.environment}
    environment.update(change.environment)
    return (
        _bag(change.applied_to(before.argv)) == _bag(after.argv)
        and environment == {one.name: one.value for one in after.environment}
        and (before.engine, before.entry, len(before.lost), len(before.others))
        == (after.engine, after.entry, len(after.lost), len(after.others))
        and set(after.unresolved) <= set(before.unresolved)
    )


def _bag(argv: Iterable[str]) -> Counter[str]:
    """Return the words of a command line without their order, `--flag=value` taken apart."""
    return Counter(
        part for word in argv for part in (word.split("=", 1) if word.startswith("--") else [word])
    )


def _line_start(text: str, line: int | None) -> int:
    at = 0
    for _ in range((line or 1) - 1):
        at = text.find("\n", at) + 1
    return at


def _is_comment(text: str, at: int) -> bool:
    return text[text.rfind("\n", 0, at) + 1 : at].lstrip().startswith("#")


def _quoted(value: str, separator: str) -> str:
    """Return a value for the place after a separator: quoted already, a YAML item, or a word."""
    if separator[-1:] in {'"', "'"}:
        return value
    is_yaml = re.search(r":\s+$|\n\s*-\s+$|value:\s*$", separator) is not None
    if is_yaml and _YAML_NO_STRING.fullmatch(value):
        return f'"{value}"'
    return shlex.quote(value)


#: Plain YAML that would be a number, a boolean or null; manifests want strings.
_YAML_NO_STRING = re.compile(
    r"[-+.\d][\d_.eExXoO+-]*|true|false|yes|no|on|off|null|~", re.IGNORECASE
)
