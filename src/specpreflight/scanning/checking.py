"""Check one launch of a scan, in whatever process: what to check goes in, a report comes out."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import Any, Final, NamedTuple

from specpreflight.api import check
from specpreflight.conditions import Conditions
from specpreflight.engines.registry import expect_many
from specpreflight.models.checkpoint import Checkpoint, Problem
from specpreflight.models.finding import Confidence
from specpreflight.models.policy import Policy
from specpreflight.models.report import Report
from specpreflight.models.weights import Tensor, WeightTable
from specpreflight.scanning.template import PAIRED_BY_SLOT
from specpreflight.sources.checkpoint import read_directory
from specpreflight.sources.checkpoint_identity import digest_of, tokenizer_digest
from specpreflight.sources.weight_index import WeightFolder

#: Stands for a checkpoint's config.json where parts have the names of tensors.
CONFIG: Final = "/config.json"


class JobSide(NamedTuple):
    """A checkpoint of a job: a directory and what to call it, or what the user gave alone.

    `unread` are keys of its config whose values are of no account unless a report shows them.
    """

    path: str
    name: str | None
    unread: tuple[str, ...] = ()


class Job(NamedTuple):
    """A launch to check; `conditions` is the number of its conditions among those of the scan."""

    conditions: int
    target: JobSide | None
    draft: JobSide | None
    paired: bool = False
    inferred: bool = False


class Look(NamedTuple):
    """Something that a check has read of a checkpoint beside what its identity covers.

    That is a tensor's bytes by its name, all of its config.json (`CONFIG`), or the tokenizer
    (`None`); and the digest of what was read.
    """

    role: str
    part: str | None
    digest: bytes


class Checked(NamedTuple):
    """The report on a job, what could not be read, and what was looked at."""

    report: Report
    problems: tuple[Problem, ...]
    looks: tuple[Look, ...] = ()


def run_job(job: Job, conditions: Sequence[Conditions], plugins: tuple[str, ...] = ()) -> Checked:
    """Read the checkpoints of a job and check their launch."""
    common = conditions[job.conditions]
    seen: dict[tuple[str, str | None], str] = {}
    target = _read("target", job.target, common, seen)
    draft = _read("draft", job.draft, common, seen)
    expect_many(common.engine.name)
    policy = Policy(plugins=plugins) if plugins else None
    report = check(common.launch(target, draft), policy=policy)
    paired_by = PAIRED_BY_SLOT if job.paired else None
    report = replace(report, inputs=replace(report.inputs, paired_by=paired_by))
    if job.inferred:
        inferred = (replace(one, confidence=Confidence.INFERRED) for one in report.findings)
        report = replace(report, findings=tuple(inferred))
    problems = tuple(side.problem for side in (target, draft) if side is not None and side.problem)
    for role, side in (("target", job.target), ("draft", job.draft)):
        if side is not None and _shows_any(report, side.unread):
            seen[role, CONFIG] = side.path
    looks = (Look(role, name, content_of(path, name)) for (role, name), path in seen.items())
    return Checked(report, problems, tuple(looks))


def _read(
    role: str, side: JobSide | None, common: Conditions, seen: dict[tuple[str, str | None], str]
) -> Checkpoint | None:
    if side is None:
        return None
    if side.name is None:
        return common.read(role, side.path)
    if role == "target":
        read = _read_target(side.path, side.name, _state_of(side.path))
    else:
        read = read_directory(role, Path(side.path), side.name)
    return _watched(read, side.path, seen)


@lru_cache(maxsize=1)
def _read_target(path: str, name: str, state: object) -> Checkpoint:
    """Read a target and keep it: the next draft is mostly for the same one.

    With it stay its index and the headers of its weights, once they were read.
    """
    return read_directory("target", Path(path), name)


def _state_of(directory: str) -> object:
    """Return what is another value after a file of a directory, or its config, was replaced."""
    try:
        config = os.stat(f"{directory}/config.json")  # noqa: PTH116 (pathlib costs more)
        return os.stat(directory).st_mtime_ns, config.st_mtime_ns, config.st_ino  # noqa: PTH116
    except OSError:
        return object()


def looks_alike(looks: Sequence[Look], job: Job) -> bool:
    """Return whether what was looked at for one job is the same where another one is."""
    for role, part, digest in looks:
        side = job.target if role == "target" else job.draft
        if side is None or content_of(side.path, part) != digest:
            return False
    return True


def _shows_any(report: Report, keys: Sequence[str]) -> bool:
    """Return whether a report mentions one of these keys, but for lines around what it shows."""
    if not keys:
        return False
    shown = repr((report.verdict, report.findings, report.skipped, report.resolved))
    return any(key in shown for key in keys)


def content_of(directory: str, part: str | None) -> bytes:
    """Return the digest of a part of a checkpoint; see `Look`."""
    if part is None:
        return tokenizer_digest(directory)
    if part == CONFIG:
        return digest_of(Path(directory, "config.json").read_bytes())
    folder = WeightFolder(Path(directory))
    found = folder.find(part)
    data = None if found is None else folder.data(found)
    return b"" if data is None else digest_of(data)


def _watched(
    checkpoint: Checkpoint, directory: str, seen: dict[tuple[str, str | None], str]
) -> Checkpoint:
    """Return the checkpoint with its large contents noted in `seen` when they are read."""
    facts = dict(checkpoint.facts)

    def watch(name: str, noted: Callable[[Any], Any]) -> None:
        if name in facts:
            original = facts[name]
            facts[name] = lambda: noted(original())

    def tokenizer(read: Any) -> Any:
        seen[checkpoint.role, None] = directory
        return read

    def weights(table: WeightTable) -> WeightTable:
        def read(tensor: Tensor) -> bytes | None:
            seen[checkpoint.role, tensor.name] = directory
            return table.read(tensor)

        return replace(table, read=read)

    watch("tokenizer", tokenizer)
    watch("weights", weights)
    return replace(checkpoint, facts=facts)
