"""One launch on two versions of an engine: what becomes of it, and which facts are behind that."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from specpreflight.api import check
from specpreflight.changes.compare import in_order
from specpreflight.changes.consequences import compare_reports
from specpreflight.changes.releases import diff_facts, summarize_lists, touches
from specpreflight.engines.registry import find_engine
from specpreflight.models.change import Change
from specpreflight.models.comparison import Comparison
from specpreflight.models.finding import Finding, Severity
from specpreflight.models.launch import EngineVersion, Launch
from specpreflight.models.report import Report


@dataclass(frozen=True, slots=True)
class Upgrade:
    """A launch before and after a change of the engine.

    `comparison` lists what follows and the facts that touch the launch; `to_do` are the errors of
    the second version, and the warnings that the first does not have.
    """

    comparison: Comparison
    before: Report
    after: Report
    to_do: tuple[Finding, ...]


def compare_versions(before: EngineVersion, after: EngineVersion) -> Comparison:
    """Return everything that is known differently of two versions of an engine."""
    old, new = (find_engine(one.name).facts(one) for one in (before, after))
    changes = tuple(summarize_lists(change) for change in diff_facts(old, new))
    return Comparison(name_of(before), name_of(after), changes)


def compare_on_versions(before: Launch, after: Launch) -> Upgrade:
    """Return what becomes of one launch, read for each of two versions."""
    reports = check(before), check(after)
    found = in_order(compare_reports(*reports).values())
    old, new = name_of(before.engine), name_of(after.engine)
    facts = compare_versions(before.engine, after.engine)
    predictions = [find_engine(one.engine.name).resolve(one) for one in (before, after)]
    touching = touches((before, after), predictions)
    engine = Change("engine", "engine", before.engine.version, after.engine.version, found)
    return Upgrade(
        Comparison(
            before=old,
            after=new,
            changes=(engine, *(change for change in facts.changes if touching(change))),
            before_verdict=reports[0].verdict,
            after_verdict=reports[1].verdict,
        ),
        *reports,
        to_do=tuple(_to_do(*reports)),
    )


def name_of(engine: EngineVersion) -> str:
    """Return the name of a version for a reader: the release, or the folder of a tree."""
    return f"{engine.name} {engine.version}" if engine.path is None else engine.path


def _to_do(before: Report, after: Report) -> Iterator[Finding]:
    """Yield what stands against the second version, not the warnings that one lives with."""
    known = {(one.rule, one.message) for one in before.findings}
    for finding in after.findings:
        is_new = (finding.rule, finding.message) not in known
        if finding.severity is Severity.ERROR or (finding.severity is Severity.WARNING and is_new):
            yield finding
