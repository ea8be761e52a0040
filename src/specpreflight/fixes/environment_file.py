"""Merge variables into a file that keeps them, without touching the lines of others."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Final

from specpreflight.errors import InputError
from specpreflight.fixes.environment_dialects import (
    DIALECTS,
    Dialect,
    check_name,
    render_compose,
    render_kubernetes,
    render_systemd,
    render_yaml,
)

TARGETS: Final = ("systemd", "dotenv", "docker", "shell", "compose", "kubernetes", "nccl.conf")
_INDENT: Final = re.compile(r"[ ]*")


def merge_environment(
    text: str, variables: Mapping[str, str], target: str, name: str = "server"
) -> str:
    """Return the file's text with the variables set, and every other line as it was.

    Args:
        text: what the file holds; empty for a new one.
        variables: what it shall set.
        target: one of `TARGETS`.
        name: the compose service, or the name of a new ConfigMap.

    Raises:
        InputError: the kind of file cannot hold a value, or the place for it is not found.
    """
    if target == "systemd":
        return _merge_systemd(text, variables)
    if target == "compose":
        return _merge_compose(text, variables, name)
    if target == "kubernetes":
        return _merge_kubernetes(text, variables, name)
    return _merge_lines(text, variables, DIALECTS[target])


def _merge_lines(text: str, variables: Mapping[str, str], dialect: Dialect) -> str:
    new = []
    for name, value in variables.items():
        line = dialect.render(name, value)
        pattern = re.compile(
            dialect.assignment.format(name=re.escape(check_name(name))), re.MULTILINE
        )
        text, count = pattern.subn(lambda _: line, text)  # noqa: B023
        if not count:
            new.append(f"{line}\n")
    place = _after_header(text) if dialect.name == "shell" else len(text)
    return f"{_ended(text[:place])}{''.join(new)}{text[place:]}" if new else text


def _after_header(text: str) -> int:
    """Return where a script's commands begin: before a launch, or a guard of interactive shells.

    What stands above is its first run of comments, and every `#SBATCH` line, which Slurm reads up
    to the first command.
    """
    place = at = 0
    is_first_run = True
    for line in text.splitlines(keepends=True):
        at += len(line)
        is_comment = line.startswith("#")
        if not is_comment and line.strip():
            return place
        is_first_run = is_first_run and is_comment
        if is_first_run or line.startswith("#SBATCH"):
            place = at
    return place


def _ended(text: str) -> str:
    return text if not text or text.endswith("\n") else f"{text}\n"


def _merge_systemd(text: str, variables: Mapping[str, str]) -> str:
    """Set `Environment=` lines of `[Service]`; a line that sets others too keeps those."""
    lines = text.split("\n") if text else ["[Service]", ""]
    for name, value in variables.items():
        lines = [kept for line in lines if (kept := _without(line, name)) is not None]
        lines.insert(_end_of_service(lines), render_systemd(name, value))
    return _ended("\n".join(lines))


def _without(line: str, name: str) -> str | None:
    """Return an `Environment=` line without one variable, `None` where nothing is left of it."""
    match = re.match(r"(\s*Environment\s*=\s*)(.*)$", line)
    if match is None or not re.search(rf"(^|[\s\"']){re.escape(name)}=", match[2]):
        return line
    words = re.findall(r"\"(?:\\.|[^\"\\])*\"|'(?:\\.|[^'\\])*'|(?:\\.|[^\s\"'\\])+", match[2])
    if "".join(words) != re.sub(r"\s+", "", match[2]) and len(words) < 2:
        return line
    kept = [word for word in words if not word.lstrip("\"'").startswith(f"{name}=")]
    return match[1] + " ".join(kept) if kept else None


def _end_of_service(lines: list[str]) -> int:
    """Return where a line at the end of the section `[Service]` goes; make one if it is absent."""
    heads = [at for at, line in enumerate(lines) if line.strip() == "[Service]"]
    if not heads:
        while lines and not lines[-1]:
            lines.pop()
        lines.extend(["", "[Service]", ""] if lines else ["[Service]", ""])
        return len(lines) - 1
    at = heads[-1] + 1
    end = at
    while at < len(lines) and not re.match(r"\s*\[", lines[at]):
        if lines[at].strip():
            end = at + 1
        at += 1
    return end


def _merge_compose(text: str, variables: Mapping[str, str], service: str) -> str:
    if not text.strip():
        text = f"services:\n  {service}:\n    environment:\n"
    lines = text.split("\n")
    services = _find_key(lines, "services", 0, len(lines), 0)
    if services is None:
        raise InputError("the compose file has no `services:`")
    at = _find_key(lines, service, services + 1, _block_end(lines, services), None)
    if at is None:
        raise InputError(
            f"the compose file has no service `{service}`", hint="name it with --service"
        )
    return _set_block(lines, at, "environment", variables, render_compose, "- {name}={value}")


def _merge_kubernetes(text: str, variables: Mapping[str, str], name: str) -> str:
    """Set the data of a ConfigMap, or the one `env:` list of a workload."""
    if not text.strip():
        head = f"apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: {name}\ndata:\n"
        return head + "".join(
            f"  {check_name(key)}: {render_yaml(value)}\n" for key, value in variables.items()
        )
    lines = text.split("\n")
    data = _find_key(lines, "data", 0, len(lines), 0)
    if data is not None and re.search(r"^kind:\s*[\"']?ConfigMap", text, re.MULTILINE):
        return _set_entries(lines, data, variables, render_yaml, None)
    places = [at for at, line in enumerate(lines) if re.match(r"\s+(- )?env:\s*$", line)]
    if len(places) != 1:
        raise InputError(
            f"the manifest has {len(places)} `env:` lists, one is needed",
            hint="write a ConfigMap to a new file and name it in envFrom:",
        )
    return _set_env_list(lines, places[0], variables)


def _find_key(lines: list[str], key: str, start: int, end: int, indent: int | None) -> int | None:
    """Return the line of a mapping key in a block; at `indent`, or at the block's own."""
    for at in range(start, end):
        line = lines[at]
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        depth = _depth(line)
        indent = depth if indent is None else indent
        if depth == indent and re.match(
            rf"[\"']?{re.escape(key)}[\"']?\s*:\s*(#.*)?$", line.strip()
        ):
            return at
    return None


def _depth(line: str) -> int:
    match = _INDENT.match(line)
    return 0 if match is None else match.end()


def _block_end(lines: list[str], head: int) -> int:
    """Return the line after the block of a key."""
    depth = _depth(lines[head])
    end = head + 1
    for at in range(head + 1, len(lines)):
        line = lines[at]
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        is_list = line.lstrip().startswith("- ") and _depth(line) == depth
        if _depth(line) <= depth and not is_list:
            break
        end = at + 1
    return end


def _set_block(
    lines: list[str],
    head: int,
    key: str,
    variables: Mapping[str, str],
    render: Callable[[str], str],
    item: str,
) -> str:
    """Set entries under `key` of the block at `head`, adding the key where it is absent."""
    end = _block_end(lines, head)
    place = _find_key(lines, key, head + 1, end, None)
    if place is None:
        inside = [line for line in lines[head + 1 : end] if line.strip()]
        if any(re.match(rf"\s*{key}\s*:\s*\S", line) for line in inside):
            raise InputError(f"`{key}:` is written on one line, which is not changed here")
        depth = _depth(inside[0]) if inside else _depth(lines[head]) + 2
        lines.insert(end, " " * depth + f"{key}:")
        place = end
    return _set_entries(lines, place, variables, render, item)


def _set_entries(
    lines: list[str],
    place: int,
    variables: Mapping[str, str],
    render: Callable[[str], str],
    item: str | None,
) -> str:
    """Set the entries of a mapping (or, with `item`, of a list of NAME=VALUE) below `place`."""
    for name, value in variables.items():
        end = _block_end(lines, place)
        entries = [at for at in range(place + 1, end) if lines[at].strip()]
        first = lines[entries[0]] if entries else ""
        as_list = item is not None and first.lstrip().startswith("- ")
        depth = _depth(first) if entries else _depth(lines[place]) + 2
        if as_list:
            text = f"- {render(f'{check_name(name)}={value}')}"
            mine = re.compile(rf"- [\"']?{re.escape(name)}(=|[\"']?\s*$)")
        else:
            text = f"{check_name(name)}: {render(value)}"
            mine = re.compile(rf"[\"']?{re.escape(name)}[\"']?\s*:")
        found = [at for at in entries if mine.match(lines[at].strip())]
        if found:
            lines[found[0]] = " " * depth + text
            for at in reversed(found[1:]):
                del lines[at]
        else:
            lines.insert(end, " " * depth + text)
    return _ended("\n".join(lines))


def _set_env_list(lines: list[str], place: int, variables: Mapping[str, str]) -> str:
    """Set `- name: …` / `value: …` pairs of a container's `env:`."""
    for name, value in variables.items():
        end = _block_end(lines, place)
        heads = [at for at in range(place + 1, end) if re.match(r"\s*- ", lines[at])]
        depth = _depth(lines[heads[0]]) if heads else _depth(lines[place]) + 2
        pair = [
            f"{' ' * depth}- name: {check_name(name)}",
            f"{' ' * depth}  value: {render_kubernetes(value)}",
        ]
        mine = [
            at
            for at in heads
            if re.match(rf"- name:\s*[\"']?{re.escape(name)}[\"']?\s*$", lines[at].strip())
        ]
        if mine:
            after = next((at for at in heads if at > mine[0]), end)
            lines[mine[0] : after] = pair
        else:
            lines[end:end] = pair
    return _ended("\n".join(lines))
