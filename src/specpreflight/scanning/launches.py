"""The launch files of a tree: every launch that they start is checked as it stands there."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from specpreflight.api import check, judge
from specpreflight.conditions import Surroundings, in_order, is_launch_file, launches_of
from specpreflight.errors import InputError, SpecpreflightError
from specpreflight.models.checkpoint import Checkpoint
from specpreflight.models.launch import Launch
from specpreflight.models.policy import Policy
from specpreflight.scanning.runner import Scanned
from specpreflight.sources.launch_command import read_launch_file


def launches_in(path: str, around: Surroundings) -> list[Launch]:
    """Read every launch that a file starts; none where it starts none.

    Of the engines to ask, those count that are the launch's own: the others would refuse its flags,
    which says nothing about it.

    Raises:
        UsageError: the file names an engine or release that is not known.
    """
    try:
        if not is_launch_file(Path(path)):
            return launches_of(None, around, target=path)
        command = read_launch_file(Path(path), environment=os.environ, given=path)
        return [
            launch
            for one in in_order(command)
            for launch in launches_of(one, _asking_only(one.engine, around))
        ]
    except InputError:
        return []


def _asking_only(engine: str | None, around: Surroundings) -> Surroundings:
    asked = (one for one in around.engines if engine in (None, one.name))
    return replace(around, engines=tuple(asked))


def folders_of(launch: Launch) -> Iterator[str]:
    """Yield the real paths of the checkpoints that a launch names and that are here."""
    for side in (launch.target, launch.draft):
        if side is not None and side.directory is not None:
            yield str(side.directory.resolve())


def check_file(path: str, launch: Launch, policy: Policy | None) -> Scanned:
    """Check a launch that a file of the tree starts.

    A checkpoint that it names and that is not here is unknown, not missing: it may well be where
    the file will run. A defect of this program is the failure of this one launch.

    Raises:
        UsageError: the policy names a plugin that is not installed.
    """
    target, draft = _unless_absent(launch.target), _unless_absent(launch.draft)
    here = replace(launch, target=target, draft=draft)
    plugins = None if policy is None else Policy(plugins=policy.plugins)
    try:
        report = check(here, policy=plugins)
    except SpecpreflightError:
        raise
    except Exception as error:
        return Scanned(None, failure=f"{path}: {type(error).__name__}: {error}", launch=here)
    report = replace(report, inputs=replace(report.inputs, launch_file=path))
    problems = (side.problem for side in (target, draft) if side is not None)
    return Scanned(
        report if policy is None else judge(report, policy),
        problems=tuple(problem for problem in problems if problem is not None),
        launch=here,
    )


def _unless_absent(checkpoint: Checkpoint | None) -> Checkpoint | None:
    problem = None if checkpoint is None else checkpoint.problem
    return None if problem and problem.kind in ("missing", "not-cached") else checkpoint
