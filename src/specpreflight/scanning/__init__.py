"""Check every launch that a tree of checkpoints calls for.

>>> from specpreflight import scan
>>> for report in scan("drafts", target="moonshotai/Kimi-K2.5", engine="sglang@0.5.11"):
...     print(report.inputs.draft, report.verdict.summary)
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path

from specpreflight.api import check, identify_engine, judge
from specpreflight.errors import InputError, SpecpreflightError
from specpreflight.models.checkpoint import Checkpoint
from specpreflight.models.launch import Hardware, Launch, Variable
from specpreflight.models.policy import Policy
from specpreflight.models.report import Report
from specpreflight.scanning.changes import Changes, changes_since
from specpreflight.scanning.launches import Conditions
from specpreflight.scanning.runner import Runner, Scanned
from specpreflight.scanning.store import open_store
from specpreflight.scanning.subjects import subjects
from specpreflight.scanning.survey import Survey, survey
from specpreflight.scanning.workers import usable_cores
from specpreflight.sources.checkpoint_tree import CheckpointTree
from specpreflight.sources.pairs_file import StatedPair, read_pairs

__all__ = ["Conditions", "Runner", "Scanned", "Survey", "check_file", "scan", "scan_survey"]


class ScanError(SpecpreflightError):
    """A launch could not be checked, for a defect of this program (exit 3)."""

    exit_code = 3


def scan(
    paths: str | os.PathLike[str] | Sequence[str | os.PathLike[str]],
    *,
    target: str | None = None,
    pairs: str | os.PathLike[str] | None = None,
    engine: str = "sglang",
    words: Sequence[str] = (),
    environment: Mapping[str, Variable] | None = None,
    hardware: Hardware | None = None,
    policy: Policy | None = None,
    latest: bool = False,
    changed_since: str | None = None,
    jobs: int | None = None,
    cache: bool = True,
) -> Iterator[Report]:
    """Yield a report for each draft under `paths` with its target, and each target without draft.

    Reports come as they are made, in the order of the tree. What cannot be read does not end the
    scan: an unreadable config.json has a report that says so, and the directories that cannot be
    listed are raised when everything else is done.

    Args:
        paths: directories, or the config.json of single checkpoints.
        target: the target of every draft; where it is `None`, what the pairs file, the drafts'
            own files, or equal facts say (the last with confidence `inferred`).
        pairs: a file of lines `TARGET DRAFT`.
        engine: `sglang`, `vllm@0.11.0`, ….
        words: the engine's further arguments, the same for every launch.
        environment: the variables of every launch.
        hardware: what is known of the machine.
        policy: how findings count.
        latest: of each series of training outputs, check only the newest.
        changed_since: check only what differs from this git revision.
        jobs: how many processes may work; as many as there are cores if not given.
        cache: look up and keep reports in `$XDG_CACHE_HOME/specpreflight/scan`.

    Raises:
        UsageError: an unknown engine, version or revision.
        InputError: a directory cannot be read, raised at the end.
        ScanError: a launch could not be checked, raised in its place.
    """
    roots = [paths] if isinstance(paths, (str, os.PathLike)) else list(paths)
    given = [os.fspath(root) for root in roots]
    conditions = Conditions(
        identify_engine(engine), tuple(words), environment or {}, hardware=hardware
    )
    with closing(survey(CheckpointTree(given, latest=latest))) as found:
        runner = Runner(
            [conditions],
            jobs=usable_cores() if jobs is None else jobs,
            policy=policy,
            store=open_store([conditions]) if cache else None,
        )
        changes = None if changed_since is None else changes_since(given, changed_since)
        stated = () if pairs is None else read_pairs(Path(pairs))
        for one in scan_survey(found, runner, target=target, pairs=stated, changes=changes):
            if one.report is None:
                raise ScanError(one.failure or "a launch could not be checked")
            yield one.report
        if found.unreadable:
            first = found.unreadable[0]
            raise InputError(f"{first.path}: {first.reason}")


def scan_survey(
    found: Survey,
    runner: Runner,
    *,
    target: str | None = None,
    pairs: Sequence[StatedPair] = (),
    changes: Changes | None = None,
    launched: frozenset[str] = frozenset(),
) -> Iterator[Scanned]:
    """Yield what there is to say of everything that was found, but for launch files.

    Args:
        found: the tree.
        runner: who checks.
        target: the target of every draft.
        pairs: those of a pairs file.
        changes: what to restrict the scan to.
        launched: real paths of checkpoints that a launch file names.
    """
    every = subjects(found, target=target, pairs=pairs, launched=launched)
    wanted = (one for one in every if changes is None or changes.touch(one))
    return runner.run(wanted)


def check_file(path: str, launch: Launch, policy: Policy | None) -> Scanned:
    """Check a launch that a file of the tree starts.

    A checkpoint that it names and that is not here is unknown, not missing: it may well be where
    the file will run.
    """
    target, draft = _unless_absent(launch.target), _unless_absent(launch.draft)
    here = replace(launch, target=target, draft=draft)
    plugins = None if policy is None else Policy(plugins=policy.plugins)
    report = check(here, policy=plugins)
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
