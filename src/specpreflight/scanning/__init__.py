"""Check every launch that a tree of checkpoints and launch files calls for.

>>> from specpreflight import scan
>>> for report in scan("drafts", target="moonshotai/Kimi-K2.5", engine="sglang@0.5.11"):
...     print(report.inputs.draft, report.verdict.summary)
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from pathlib import Path

from specpreflight.api import identify_engine
from specpreflight.conditions import Conditions, Surroundings, conditions_of
from specpreflight.errors import InputError, SpecpreflightError
from specpreflight.models.launch import Hardware, Variable
from specpreflight.models.policy import Policy
from specpreflight.models.report import Report
from specpreflight.scanning.changes import Changes, changes_since
from specpreflight.scanning.launches import scan_files
from specpreflight.scanning.runner import Runner, Scanned
from specpreflight.scanning.store import open_store
from specpreflight.scanning.subjects import subjects
from specpreflight.scanning.survey import Survey, survey
from specpreflight.scanning.workers import collecting, usable_cores
from specpreflight.sources.checkpoint_tree import CheckpointTree
from specpreflight.sources.pairs_file import StatedPair, read_pairs

__all__ = [
    "Conditions",
    "Runner",
    "Scanned",
    "Survey",
    "common_conditions",
    "scan",
    "scan_survey",
]


class ScanError(SpecpreflightError):
    """Launches could not be checked, for a defect of this program (exit 3); a line for each."""

    exit_code = 3


def scan(
    paths: str | os.PathLike[str] | Sequence[str | os.PathLike[str]],
    *,
    target: str | os.PathLike[str] | None = None,
    pairs: str | os.PathLike[str] | None = None,
    engine: str | None = None,
    words: Sequence[str] = (),
    environment: Mapping[str, Variable] | None = None,
    hardware: Hardware | None = None,
    policy: Policy | None = None,
    latest: bool = False,
    changed_since: str | None = None,
    jobs: int | None = None,
    cache: bool = True,
) -> Iterator[Report]:
    """Yield the reports of `specpreflight scan PATHS --no-env`, in the same order.

    Those are one for each launch in a launch file under `paths`, then one for each draft with its
    target, then one for each target without draft. Each comes as it is made. Nothing ends the scan
    before its time: an unreadable config.json has a report that says so, and what has none is
    raised when everything else is done.

    Args:
        paths: directories, the config.json of single checkpoints, or launch files.
        target: the target of every draft; where it is `None`, what the pairs file, launch files,
            the drafts' own files, or equal facts say (the last with confidence `inferred`).
        pairs: a file of lines `TARGET DRAFT`.
        engine: `sglang`, `vllm@0.11.0`, …; where it is `None`, what a launch file names, else
            SGLang at its newest known release.
        words: the engine's further arguments, the same for every launch that no file starts.
        environment: variables of every launch; they win over those that a launch file sets.
        hardware: what is known of the machine.
        policy: how findings count.
        latest: of each series of training outputs, check only the newest.
        changed_since: check only what differs from this git revision.
        jobs: how many processes may work; as many as there are cores if not given.
        cache: look up and keep reports in `$XDG_CACHE_HOME/specpreflight/scan`.

    Raises:
        UsageError: an unknown engine, version or revision.
        ScanError: at the end, launches could not be checked.
        InputError: at the end, directories could not be read.
    """
    roots = [paths] if isinstance(paths, (str, os.PathLike)) else list(paths)
    given = [os.fspath(root) for root in roots]
    around = Surroundings(
        engines=() if engine is None else (identify_engine(engine),),
        given=environment or {},
        hardware=hardware,
        folders=tuple(given),
    )
    conditions = common_conditions(words, around)
    with closing(survey(CheckpointTree(given, latest=latest))) as found:
        jobs = usable_cores() if jobs is None else jobs
        runner = Runner(
            conditions,
            jobs=jobs,
            policy=policy,
            store=open_store(conditions) if cache else None,
        )
        changes = None if changed_since is None else changes_since(given, changed_since)
        stated = () if pairs is None else read_pairs(Path(pairs))
        scanned = scan_survey(
            found,
            runner,
            around,
            target=None if target is None else os.fspath(target),
            pairs=stated,
            changes=changes,
            policy=policy,
            jobs=jobs,
        )
        failures = []
        for one in scanned:
            if one.report is None:
                failures.append(one.failure or "a launch could not be checked")
            else:
                yield one.report
        if failures:
            raise ScanError("\n".join(failures))
        if found.unreadable:
            raise InputError("\n".join(f"{one.path}: {one.reason}" for one in found.unreadable))


def common_conditions(words: Sequence[str] | None, around: Surroundings) -> list[Conditions]:
    """Return what the launches of all pairs have in common, once for each engine.

    Raises:
        UsageError, InputError: see `conditions_of`.
    """
    if not words:
        return conditions_of(None, around)
    from specpreflight.sources.launch_command import read_launch

    return conditions_of(read_launch(words, environment=os.environ), around)


def scan_survey(
    found: Survey,
    runner: Runner,
    around: Surroundings,
    *,
    target: str | None = None,
    pairs: Sequence[StatedPair] = (),
    changes: Changes | None = None,
    policy: Policy | None = None,
    jobs: int = 1,
) -> Iterator[Scanned]:
    """Yield what there is to say of the launches in files, then of everything else.

    Args:
        found: the tree; a launch file that cannot be read or checked is added to its `unreadable`.
        runner: who checks pairs.
        around: what the launches of files find around them.
        target: the target of every draft.
        pairs: those of a pairs file.
        changes: what to restrict the scan to.
        policy: how findings count.
        jobs: how many processes may check launches of files.
    """
    launched: set[str] = set()
    with collecting():
        yield from scan_files(found, around, launched, changes=changes, policy=policy, jobs=jobs)
    every = subjects(found, target=target, pairs=pairs, launched=launched)
    yield from runner.run(one for one in every if changes is None or changes.touch(one))
