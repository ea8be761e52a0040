"""Which commit of an engine changes what becomes of a launch."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

from specpreflight.api import check, identify_engine
from specpreflight.changes.compare import in_order
from specpreflight.changes.consequences import compare_reports
from specpreflight.changes.releases import diff_facts, summarize_lists, touches
from specpreflight.engines.base import Facts
from specpreflight.engines.registry import find_engine
from specpreflight.errors import InputError, UsageError
from specpreflight.models.change import Change
from specpreflight.models.comparison import Comparison, Culprit
from specpreflight.models.finding import Severity
from specpreflight.models.launch import EngineVersion, Launch
from specpreflight.models.report import Report
from specpreflight.models.resolved import Resolved
from specpreflight.sources.git_objects import Commit, Repository

#: The file that tells where in a repository the package stands.
_SIGN: Final = "srt/server_args.py"


@dataclass(frozen=True, slots=True)
class Tried:
    """A commit, the launch as its engine reads it, what becomes of it, and the engine's facts."""

    commit: Commit
    launch: Launch
    report: Report
    resolved: Resolved
    facts: Facts

    @property
    def verdict(self) -> Any:
        """What two commits are told apart by: the outcome, and the rules with errors."""
        found = self.report.verdict
        errors = {one.rule for one in self.report.findings if one.severity is Severity.ERROR}
        return found.outcome, found.stage, frozenset(errors)


def bisect(
    path: Path, good: str, bad: str, launch: Launch, tell: Callable[[Tried], None]
) -> Culprit:
    """Return the commit that changes the verdict on a launch.

    Args:
        path: a clone of SGLang.
        good: a revision before the change.
        bad: a revision after it.
        launch: what is predicted at each commit.
        tell: is called with every commit that was tried.

    Raises:
        UsageError: no such revisions, or the verdict is the same at both.
        InputError: no repository, or it holds no SGLang.
    """
    if launch.engine.name != "sglang":
        raise UsageError(
            f"the source of {launch.engine.name} is not read, only its releases are known",
            hint="compare releases: specpreflight engines diff vllm@A vllm@B -- …",
        )
    repository = Repository(path)
    first, last = repository.commit(good), repository.commit(bad)
    history = [first, *repository.commits_between(first, last, _folder(repository, last))]
    tried: dict[int, Tried] = {}

    def look(at: int) -> Tried:
        if at not in tried:
            tried[at] = _try(repository, history[at], launch)
            tell(tried[at])
        return tried[at]

    low, high = 0, len(history) - 1
    if look(low).verdict == look(high).verdict:
        raise UsageError(
            f"the verdict is the same at both: {tried[high].report.verdict.summary}",
            hint=f"{len(history) - 1} commits between {good} and {bad} touch the engine",
        )
    while high - low > 1:
        middle = (low + high) // 2
        if look(middle).verdict == look(low).verdict:
            low = middle
        else:
            high = middle
    return _culprit(look(low), look(high), len(tried))


def _culprit(before: Tried, at: Tried, tried: int) -> Culprit:
    consequences = in_order(compare_reports(before.report, at.report).values())
    commit = Change("engine", "commit", before.commit.sha[:12], at.commit.sha[:12], consequences)
    touch = touches((before.launch, at.launch), (before.resolved, at.resolved))
    facts = (
        summarize_lists(change) for change in diff_facts(before.facts, at.facts) if touch(change)
    )
    releases = (before.launch.engine.version, at.launch.engine.version)
    return Culprit(
        at.commit.sha,
        at.commit.date,
        at.commit.subject,
        Comparison(
            before.commit.short,
            at.commit.short,
            (commit, *facts),
            before.report.verdict,
            at.report.verdict,
        ),
        None if releases[0] == releases[1] else releases,
        tried,
    )


def _folder(repository: Repository, commit: Commit) -> str:
    found = repository.find_files(commit, _SIGN)
    if not found:
        raise InputError(
            f"{repository.path}: no SGLang at {commit.short}",
            hint="give a clone of the engine's repository",
        )
    return found[0].removesuffix(_SIGN).rstrip("/")


def _try(repository: Repository, commit: Commit, launch: Launch) -> Tried:
    with _tree(repository, commit) as package:
        engine = _version(repository, commit, package)
        answers = find_engine(engine.name)
        flags = answers.read_arguments(launch.argv, engine).flags
        there = replace(launch, engine=engine, flags=flags)
        return Tried(commit, there, check(there), answers.resolve(there), answers.facts(engine))


@contextmanager
def _tree(repository: Repository, commit: Commit) -> Iterator[Path]:
    """Write the package as it is at a commit to a folder that goes away afterwards."""
    from specpreflight.engines.sglang.harvest.cache import forget_facts

    folder = _folder(repository, commit)
    with tempfile.TemporaryDirectory(prefix="specpreflight-") as scratch:
        package = Path(scratch, folder or "sglang")
        place = Path(scratch) if folder else package
        repository.export(commit, [folder] if folder else [], ".py", place)
        above = folder.rpartition("/")[0]
        pins = f"{above}/pyproject.toml" if above else "pyproject.toml"
        repository.export(commit, [pins], "pyproject.toml", Path(scratch))
        try:
            yield package
        finally:
            forget_facts(package)


def _version(repository: Repository, commit: Commit, package: Path) -> EngineVersion:
    """Return the version of a tree: by the tag before it, else by what it says of itself."""
    found = identify_engine(f"sglang@{package}")
    tag = repository.nearest_tag(commit)
    if tag is not None:
        with suppress(UsageError):
            found = replace(found, version=identify_engine(f"sglang@{tag}").version)
    return replace(found, determined_by=f"commit {commit.short}")
