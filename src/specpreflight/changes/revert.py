"""A launch with one change taken back: what would it do without?"""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from specpreflight.api import identify_engine
from specpreflight.changes.differences import json_object
from specpreflight.documents import Document
from specpreflight.documents.pointer import split_pointer
from specpreflight.engines.registry import find_engine
from specpreflight.errors import UsageError
from specpreflight.models.change import Change
from specpreflight.models.checkpoint import Checkpoint
from specpreflight.models.finding import MISSING, Origin
from specpreflight.models.launch import Hardware, Launch, Variable
from specpreflight.models.secrets import REDACTED


def revert(launch: Launch, change: Change) -> Launch | None:
    """Return the launch as it would be without `change`, `None` where that can't be had.

    It can't for paths, contents of files other than config.json, libraries, redacted values, and
    an engine whose code is not known any more.
    """
    if change.note is not None or REDACTED in (change.before, change.after):
        return None
    match change.part:
        case "engine":
            return _with_engine(launch, change)
        case "flags":
            return _with_flag(launch, change.name, change.before)
        case "environment":
            return _with_variable(launch, change.name, change.before)
        case "hardware":
            return _with_hardware(launch, change.name, change.before)
        case "target" | "draft":
            return _with_key(launch, change)
        case _:
            return None


def _with_engine(launch: Launch, change: Change) -> Launch | None:
    try:
        version = identify_engine(f"{launch.engine.name}@{change.before}")
    except UsageError:
        return None
    if version.version != change.before:
        return None
    flags = find_engine(version.name).read_arguments(launch.argv, version).flags
    return replace(launch, engine=version, flags=flags)


def _with_variable(launch: Launch, name: str, value: str | None) -> Launch:
    environment = {key: known for key, known in launch.environment.items() if key != name}
    if value != MISSING:
        environment[name] = Variable(name, value, Origin("environment", name=name))
    return replace(launch, environment=environment)


def _with_hardware(launch: Launch, name: str, value: Any) -> Launch | None:
    if name not in Hardware.__slots__ or name == "topology":
        return None
    if value == MISSING:
        value = getattr(Hardware(), name)
    changed: Any = tuple(value) if isinstance(value, list) else value
    facts: dict[str, Any] = {name: changed}
    return replace(launch, hardware=replace(launch.hardware, **facts))


def _with_key(launch: Launch, change: Change) -> Launch | None:
    checkpoint = launch.target if change.part == "target" else launch.draft
    if checkpoint is None or change.name == "path":
        return None
    changed = _with_value(checkpoint, f"/{change.name}", change.before)
    if change.part == "target":
        return replace(launch, target=changed)
    return replace(launch, draft=changed)


def _with_value(checkpoint: Checkpoint, pointer: str, value: Any) -> Checkpoint:
    """Return the checkpoint with one value of its config replaced, added or removed."""
    root = copy.deepcopy(checkpoint.config.root)
    *way, last = split_pointer(pointer)
    place = root
    for part in way:
        inner = place.get(part)
        if not isinstance(inner, dict):
            inner = place[part] = {}
        place = inner
    if value == MISSING:
        place.pop(last, None)
    else:
        place[last] = value
    data = json.dumps(root, ensure_ascii=False).encode()
    config = Document(checkpoint.config.name, data, root, checkpoint.config.path)
    return replace(checkpoint, config=config)


def _with_flag(launch: Launch, dashed: str, value: Any) -> Launch | None:
    name, _, key = dashed.removeprefix("--").partition(".")
    now = launch.flags.get(name)
    if key:
        keys = json_object(now) or {}
        keys.pop(key, None)
        value = json.dumps(keys if value == MISSING else {**keys, key: value})
    words = _without(launch, name) if now is not None else launch.argv
    if words is None:
        return None
    if value != MISSING:
        words = (*words, *_flag_words(name, value))
    flags = find_engine(launch.engine.name).read_arguments(words, launch.engine).flags
    return replace(launch, argv=words, flags=flags)


def _flag_words(name: str, value: Any) -> Sequence[str]:
    dashed = name if name.startswith("-") else f"--{name}"
    if value is True:
        return [dashed]
    if isinstance(value, list):
        return [dashed, *map(str, value)]
    return [f"{dashed}={value}"] if str(value).startswith("-") else [dashed, str(value)]


def _without(launch: Launch, name: str) -> tuple[str, ...] | None:
    """Return the words without a flag, found by reading: only that flag may be gone."""
    read = find_engine(launch.engine.name).read_arguments
    words = launch.argv
    while True:
        flags = dict(read(words, launch.engine).flags)
        if name not in flags:
            return words
        others = {key: value for key, value in flags.items() if key != name}
        for start, end in _spans(words):
            if name not in read(words[start:end], launch.engine).flags:
                continue
            rest = (*words[:start], *words[end:])
            left = dict(read(rest, launch.engine).flags)
            left.pop(name, None)
            if left == others:
                words = rest
                break
        else:
            return None


def _spans(words: Sequence[str]) -> Iterator[tuple[int, int]]:
    """Yield where each word with a dash begins, and where the next one does."""
    starts = [at for at, word in enumerate(words) if word[:1] == "-" and len(word) > 1]
    yield from zip(starts, [*starts[1:], len(words)], strict=True)
