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

    `comparison` lists what follows and the facts that touch the launch; `to_do` are the findings
    of the second version that the first does not have, or not as bad.
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
    touching = touches(after, *predictions)
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
        to_do=tuple(_worse(*reports)),
    )


def name_of(engine: EngineVersion) -> str:
    """Return the name of a version for a reader: the release, or the folder of a tree."""
    return f"{engine.name} {engine.version}" if engine.path is None else engine.path


def _worse(before: Report, after: Report) -> Iterator[Finding]:
    """Yield the findings that count and that the first report has not, or not as bad."""
    order = list(Severity)
    known = {
        (one.rule, one.fingerprint): order.index(one.severity or Severity.NOTE)
        for one in before.findings
    }
    for finding in after.findings:
        severity = order.index(finding.severity or Severity.NOTE)
        if severity < min(
            known.get((finding.rule, finding.fingerprint), len(order)), order.index(Severity.NOTE)
        ):
            yield finding
