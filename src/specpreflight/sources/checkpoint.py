"""Read a checkpoint from a directory, a `config.json` path, or a Hub id in the local cache."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from specpreflight.documents import (
    Document,
    missing_config,
    read_document,
    refuse_byte_order_mark,
)
from specpreflight.errors import InputError
from specpreflight.models.checkpoint import Checkpoint, Problem
from specpreflight.models.weights import why_unseen
from specpreflight.sources.hub_cache import find_snapshot
from specpreflight.sources.weight_index import weight_facts

#: Where ModelOpt's exports name their quantisation; the engines read it beside config.json.
QUANTIZATION_FILE = "hf_quant_config.json"


def read_checkpoint(
    role: str,
    given: str,
    *,
    revision: str | None = None,
    find: Callable[[str, str], Path | None] = find_snapshot,
) -> Checkpoint:
    """Read the checkpoint that `given` names; what is wrong with it becomes its `problem`.

    Args:
        role: `target` or `draft`.
        given: a directory, the path of its `config.json`, the URL of either, or a Hub id:
            `org/name`, `org/name@revision`, with or without `hf://`.
        revision: the Hub revision to look for; a branch, a tag or a commit.
        find: returns the snapshot folder of a repository and revision, in the cache or from it.
    """
    if "://" in given and not given.startswith("hf://"):
        from specpreflight.sources.remote_checkpoint import read_remote_checkpoint

        return read_remote_checkpoint(role, given)
    path = Path(given)
    if os.path.isdir(path):  # noqa: PTH112 (never raises)
        config = path / "config.json"
        return _read(role, given, path, config, str(config))
    if os.path.lexists(path):
        return _read(role, given, path.parent, path, given)
    if path.suffix == ".json":
        return _read(role, given, None, path, given)
    from specpreflight.models.command import find_markers

    unknown = find_markers((given,))
    if unknown:
        return _unnamed(role, given, unknown)
    from specpreflight.storage.hub import parse_hub_address

    address = parse_hub_address(given)
    if address is not None and not _is_hidden(path):
        wanted = revision or address.revision or "main"
        return _read_snapshot(role, given, address.repository, wanted, find)
    config = path / "config.json"
    return _read(role, given, None, config, str(config))


def _is_hidden(path: Path) -> bool:
    """Return whether something may be there that this user is not allowed to see."""
    try:
        path.lstat()
    except (OSError, ValueError) as error:
        return isinstance(error, PermissionError)
    return False


def _unnamed(role: str, given: str, unknown: Sequence[str]) -> Checkpoint:
    """Return a checkpoint whose path the launch takes from somewhere else."""
    problem = Problem(
        "missing",
        f"the launch does not say where the {role} is: {given}",
        f"{', '.join(unknown)} comes from outside: set it for this command too, or give the "
        "script's own arguments after `--`",
    )
    return Checkpoint(role, given, None, Document(given, b"{}", {}), problem=problem)


def read_directory(role: str, directory: Path, name: str) -> Checkpoint:
    """Read the checkpoint in a directory that reports will call `name`."""
    return _read(role, name, directory, directory / "config.json", f"{name}/config.json")


def _read(role: str, given: str, directory: Path | None, path: Path, name: str) -> Checkpoint:
    try:
        config = _read_config(directory, given, path, name)
    except InputError as error:
        kind = "invalid" if os.path.isfile(path) else "missing"  # noqa: PTH113 (never raises)
        problem = Problem(kind, error.message, error.hint)
        empty = Document(name, b"{}", {}, path)
        return Checkpoint(role, given, directory, empty, problem=problem)
    files = tuple(sorted(os.listdir(directory))) if directory else ()  # noqa: PTH208 (no paths)
    facts: dict[str, Any] = {} if directory is None else dict(weight_facts(directory))
    if directory is not None and QUANTIZATION_FILE in files:
        facts["documents"] = _read_beside(directory)
    return Checkpoint(role, given, directory, config, files, facts=facts)


def _read_beside(directory: Path) -> dict[str, Any]:
    """Return what ModelOpt writes beside config.json; an unreadable file counts as none."""
    with contextlib.suppress(InputError):
        return {QUANTIZATION_FILE: read_document(directory / QUANTIZATION_FILE).root}
    return {}


def _read_config(directory: Path | None, given: str, path: Path, name: str) -> Document:
    """Return a config that the engines can read as well.

    Raises:
        InputError: it is not there, cannot be read, or transformers would refuse its encoding.
    """
    if directory is not None and not os.path.lexists(path):
        raise missing_config(directory, given)
    config = read_document(path, name)
    refuse_byte_order_mark(config)
    return config


def _read_snapshot(
    role: str,
    given: str,
    repository: str,
    revision: str,
    find: Callable[[str, str], Path | None],
) -> Checkpoint:
    try:
        snapshot = find(repository, revision)
    except InputError as error:
        problem = Problem("not-cached", error.message, error.hint)
        return Checkpoint(role, given, None, Document(given, b"{}", {}), problem=problem)
    if snapshot is None:
        problem = Problem(
            "not-cached",
            f"{repository}: no such directory, and not in the local Hub cache",
            f"download the JSON files with: hf download {repository} --include '*.json'"
            " (or check again with --online)",
        )
        return Checkpoint(role, given, None, Document(given, b"{}", {}), problem=problem)
    config = snapshot / "config.json"
    read = _read(role, given, snapshot, config, str(config))
    if find is find_snapshot or why_unseen(read) is None:
        return read
    from specpreflight.sources.hub_weights import hub_weight_facts

    return replace(read, facts={**read.facts, **hub_weight_facts(repository, revision)})
