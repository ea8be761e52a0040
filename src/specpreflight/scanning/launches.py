"""The launch files of a tree: every launch that they start is checked as it stands there."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Iterator
from concurrent.futures import Future
from contextlib import ExitStack
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import NamedTuple

from specpreflight.api import check, judge
from specpreflight.conditions import Surroundings, in_order, is_launch_file, launches_of
from specpreflight.engines.registry import expect_many
from specpreflight.errors import InputError, SpecpreflightError
from specpreflight.models.checkpoint import Checkpoint
from specpreflight.models.launch import Launch
from specpreflight.models.policy import Policy
from specpreflight.scanning.changes import Changes
from specpreflight.scanning.checking import Checked
from specpreflight.scanning.runner import Scanned
from specpreflight.scanning.survey import Survey
from specpreflight.scanning.workers import ALONE, Processes, ThisProcess, Workers
from specpreflight.sources.checkpoint_tree import Unreadable


class FileJob(NamedTuple):
    """A launch to check: its number among those of a file, and itself where it need not travel."""

    path: str
    number: int
    launch: Launch | None


def scan_files(
    found: Survey,
    around: Surroundings,
    launched: set[str],
    *,
    changes: Changes | None = None,
    policy: Policy | None = None,
    jobs: int = 1,
) -> Iterator[Scanned]:
    """Yield what there is to say of every launch that a file of the tree starts.

    Args:
        found: the tree; what cannot be read or checked is added to what is unreadable in it.
        around: what launches find around them.
        launched: gets the real paths of the checkpoints that they name.
        changes: what to restrict the scan to.
        policy: how findings count.
        jobs: how many processes may run.
    """
    plugins = () if policy is None else policy.plugins
    run = partial(run_file_job, around=around, plugins=plugins)
    is_shared = jobs > 1 and len(found.launch_files) > ALONE
    workers: Workers[FileJob] = Processes(jobs, run) if is_shared else ThisProcess(run)
    waiting: deque[tuple[FileJob, Launch, Future[Checked]]] = deque()
    with ExitStack() as stack:
        stack.callback(workers.close)
        for path, number, launch in _launches(found, around, launched, changes):
            job = FileJob(path, number, None if is_shared else launch)
            waiting.append((job, launch, workers.submit(job)))
            while len(waiting) >= workers.window:
                yield _finish(*waiting.popleft(), policy)
        while waiting:
            yield _finish(*waiting.popleft(), policy)


def run_file_job(job: FileJob, around: Surroundings, plugins: tuple[str, ...]) -> Checked:
    """Check a launch of a file, which another process reads again."""
    launch = job.launch or launches_in(job.path, around)[0][job.number]
    expect_many(launch.engine.name)
    report = check(launch, policy=Policy(plugins=plugins) if plugins else None)
    report = replace(report, inputs=replace(report.inputs, launch_file=job.path))
    sides = (side for side in (launch.target, launch.draft) if side is not None)
    return Checked(report, tuple(side.problem for side in sides if side.problem is not None))


def launches_in(path: str, around: Surroundings) -> tuple[list[Launch], list[str]]:
    """Read every launch that a file starts, and return why others cannot be checked.

    A file that starts nothing has neither. A checkpoint that is named and not here is unknown, not
    missing: it may well be where the file will run. Of the engines to ask, those count that are the
    launch's own: the others would refuse its flags, which says nothing about it.
    """
    from specpreflight.sources.launch_command import read_launch_file

    try:
        if not is_launch_file(Path(path)):
            return launches_of(None, around, target=path), []
        command = read_launch_file(Path(path), environment=os.environ, given=path)
    except InputError:
        return [], []
    launches: list[Launch] = []
    refused = []
    for one in in_order(command):
        try:
            launches += launches_of(one, _asking_only(one.engine, around))
        except SpecpreflightError as error:
            refused.append(error.message)
    return [_as_far_as_here(launch) for launch in launches], refused


def _launches(
    found: Survey, around: Surroundings, launched: set[str], changes: Changes | None
) -> Iterator[tuple[str, int, Launch]]:
    """Yield the launches to check, each with its file and its number there."""
    for path in found.launch_files:
        if not os.access(path, os.R_OK):
            found.unreadable.append(Unreadable(path, "permission denied"))
            continue
        launches, refused = launches_in(path, around)
        found.unreadable += [Unreadable(path, reason) for reason in refused]
        for number, launch in enumerate(launches):
            folders = list(_folders_of(launch))
            launched.update(folders)
            if changes is None or changes.touch_file(_files_of(path, launch), folders):
                yield path, number, launch


def _asking_only(engine: str | None, around: Surroundings) -> Surroundings:
    asked = (one for one in around.engines if engine in (None, one.name))
    return replace(around, engines=tuple(asked))


def _files_of(path: str, launch: Launch) -> Iterator[str]:
    """Yield the launch file, and where those are that its variables are from."""
    yield path
    for origin in {variable.origin for variable in launch.environment.values()}:
        if origin.path is not None:
            yield origin.path
            yield os.path.join(os.path.dirname(path), origin.path)  # noqa: PTH118, PTH120


def _folders_of(launch: Launch) -> Iterator[str]:
    """Yield the real paths of the checkpoints that a launch names and that are here."""
    for side in (launch.target, launch.draft):
        if side is not None and side.directory is not None:
            yield str(side.directory.resolve())


def _as_far_as_here(launch: Launch) -> Launch:
    return replace(launch, target=_if_here(launch.target), draft=_if_here(launch.draft))


def _if_here(checkpoint: Checkpoint | None) -> Checkpoint | None:
    problem = None if checkpoint is None else checkpoint.problem
    return None if problem and problem.kind in ("missing", "not-cached") else checkpoint


def _finish(
    job: FileJob, launch: Launch, future: Future[Checked], policy: Policy | None
) -> Scanned:
    try:
        report, problems, _ = future.result()
    except Exception as error:
        return Scanned(None, failure=f"{job.path}: {type(error).__name__}: {error}", launch=launch)
    return Scanned(
        report if policy is None else judge(report, policy), problems=problems, launch=launch
    )
