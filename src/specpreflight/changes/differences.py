"""What differs between two recorded launches, part by part, before anybody asks what it does."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any, Final

from specpreflight.documents.pointer import join_pointer
from specpreflight.models.change import Change, Part
from specpreflight.models.finding import MISSING
from specpreflight.models.lock import Lock, LockedCheckpoint

_CONFIG: Final = "config.json"


def list_changes(before: Lock, after: Lock) -> Iterator[Change]:
    """Yield what differs between two launches, in the order of the parts."""
    yield from _engine(before, after)
    yield from diff_values("flags", flag_values(before), flag_values(after))
    inputs, others = before.report.inputs, after.report.inputs
    yield from diff_values("environment", inputs.environment, others.environment)
    yield from diff_values("hardware", flatten(inputs.hardware), flatten(others.hardware))
    yield from _checkpoint("target", before.target, after.target)
    yield from _checkpoint("draft", before.draft, after.draft)
    if before.libraries and after.libraries:
        yield from diff_values("libraries", before.libraries, after.libraries)
    if before.written_by != after.written_by:
        note = "the recorded report was made by other rules"
        yield Change("libraries", "record", before.written_by, after.written_by, note=note)


def list_same(before: Lock, after: Lock) -> Iterator[tuple[Part, str, Any]]:
    """Yield what two launches have in common, `(part, name, value)`."""
    sides: tuple[tuple[Part, Mapping[str, Any], Mapping[str, Any]], ...] = (
        ("flags", flag_values(before), flag_values(after)),
        ("environment", before.report.inputs.environment, after.report.inputs.environment),
        ("target", _config_of(before.target), _config_of(after.target)),
        ("draft", _config_of(before.draft), _config_of(after.draft)),
        ("libraries", before.libraries, after.libraries),
    )
    for part, old, new in sides:
        for name, value in old.items():
            if name in new and new[name] == value:
                yield part, name, value


def _config_of(checkpoint: LockedCheckpoint | None) -> Mapping[str, Any]:
    return {} if checkpoint is None else flatten(checkpoint.config)


def diff_values(
    part: Part, before: Mapping[str, Any], after: Mapping[str, Any]
) -> Iterator[Change]:
    """Yield a change for each name that has another value, or is on one side only."""
    for name in dict.fromkeys((*before, *after)):
        old, new = before.get(name, MISSING), after.get(name, MISSING)
        if old != new or type(old) is not type(new):
            yield Change(part, name, old, new)


def flag_values(lock: Lock) -> dict[str, Any]:
    """Return the flags by name with dashes; of a JSON object as value, one for each key."""
    found: dict[str, Any] = {}
    for name, value in lock.report.inputs.flags.items():
        dashed = name if name.startswith("-") else f"--{name}"
        keys = json_object(value)
        if keys is None:
            found[dashed] = value
        else:
            found |= {f"{dashed}.{key}": each for key, each in keys.items()}
    return found


def json_object(value: Any) -> dict[str, Any] | None:
    """Return the JSON object that a flag's text is, `None` where it is none."""
    if not isinstance(value, str) or not value.lstrip().startswith("{"):
        return None
    try:
        found = json.loads(value)
    except ValueError:
        return None
    return found if isinstance(found, dict) else None


def flatten(config: Mapping[str, Any], prefix: str | None = None) -> dict[str, Any]:
    """Return the leaves of nested objects by their pointer without its first `/`; lists whole."""
    found: dict[str, Any] = {}
    for key, value in config.items():
        pointer = join_pointer(key).removeprefix("/")
        name = pointer if prefix is None else f"{prefix}/{pointer}"
        if isinstance(value, Mapping) and value:
            found |= flatten(value, name)
        else:
            found[name] = value
    return found


def _engine(before: Lock, after: Lock) -> Iterator[Change]:
    old, new = before.report.engine, after.report.engine
    if old.name != new.name:
        yield Change("engine", "engine", f"{old.name} {old.version}", f"{new.name} {new.version}")
    elif old.version != new.version:
        yield Change("engine", "engine", old.version, new.version)
    elif before.source.kind == after.source.kind and before.source.sha256 != after.source.sha256:
        is_tree = after.source.kind == "tree"
        yield Change(
            "engine",
            "code" if is_tree else "knowledge",
            before.source.sha256[:12],
            after.source.sha256[:12],
            note=f"the files of {new.name} {new.version} changed"
            if is_tree
            else f"other facts of {new.name} {new.version} are known to this specpreflight",
        )


def _checkpoint(
    part: Part, before: LockedCheckpoint | None, after: LockedCheckpoint | None
) -> Iterator[Change]:
    if before is None or after is None:
        if before is not after:
            yield Change(
                part,
                "path",
                MISSING if before is None else before.path,
                MISSING if after is None else after.path,
            )
        return
    if before.path != after.path:
        yield Change(part, "path", before.path, after.path)
    if not before.files or not after.files:
        return  # one could not be read: nothing is known to differ
    keys = list(diff_values(part, flatten(before.config), flatten(after.config)))
    yield from keys
    for name in sorted(before.files.keys() | after.files.keys()):
        old, new = before.files.get(name), after.files.get(name)
        if old != new and not (name == _CONFIG and keys):
            yield Change(
                part,
                name,
                MISSING if old is None else old.sha256[:12],
                MISSING if new is None else new.sha256[:12],
                note="its values are the same, its bytes are not" if name == _CONFIG else "file",
            )
