"""Compare the NCCL environments of several nodes, by what NCCL understands of them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import cast

from specpreflight.engines.nccl.table import find_facts
from specpreflight.models.finding import Confidence
from specpreflight.models.nccl import Agreement, Disagreement
from specpreflight.models.snapshot import Difference, Snapshot


def compare_snapshots(snapshots: Sequence[Snapshot]) -> tuple[Difference, ...]:
    """Return the variables that snapshots understand differently, those that break it first.

    `0x400000` and `4194304` are the same number, and a value that NCCL ignores is the same as
    none. Variables that only the ranks of one node must share break a launch where two snapshots
    of that node differ.
    """
    names = sorted({name for snapshot in snapshots for name in snapshot.variables})
    found = [difference for name in names for difference in _compare(name, snapshots)]
    return tuple(sorted(found, key=lambda one: (not one.breaks, one.name)))


def find_disagreements(differences: Iterable[Difference]) -> tuple[Disagreement, ...]:
    """Return the differences that break a launch, for the rule that reports them."""
    return tuple(
        Disagreement(one.name, one.groups, one.confidence) for one in differences if one.breaks
    )


def group_releases(snapshots: Sequence[Snapshot]) -> tuple[tuple[str, tuple[str, ...]], ...]:
    """Return `(release, labels)` of the snapshots whose release is known, not assumed."""
    known = [one for one in snapshots if not one.determined_by.startswith("assumed")]
    groups = _group((one.label, one.release) for one in known)
    return tuple((release or "", labels) for release, labels in groups)


def _compare(name: str, snapshots: Sequence[Snapshot]) -> Iterable[Difference]:
    seen = {id(one): _effective(name, one) for one in snapshots}
    if len(set(seen.values())) < 2:
        return
    facts = find_facts(name)
    agreement = facts.agreement if facts is not None else _stated(name, snapshots)
    confidence = facts.agreement_confidence if facts is not None else Confidence.INFERRED
    breaks = agreement == "all" or (agreement == "node" and _differs_on_a_node(seen, snapshots))
    groups = _group((one.label, _shown(name, one, seen[id(one)])) for one in snapshots)
    if len(groups) < 2:  # one text, of which two releases make two things
        groups = _group((one.label, seen[id(one)]) for one in snapshots)
    yield Difference(name, groups, agreement, confidence, breaks)


def _effective(name: str, snapshot: Snapshot) -> str | None:
    """Return what NCCL goes by on a node, `None` where that is its own default."""
    known = snapshot.variables.get(name)
    if known is None or known.effect in ("default", "ignored"):
        return None
    if known.effect == "changed-by-engine":
        return known.written_by_engine
    facts = find_facts(name)
    is_default = facts is not None and facts.default and known.understood == facts.default
    return None if is_default else known.understood


def _shown(name: str, snapshot: Snapshot, effective: str | None) -> str | None:
    """Return the value as the node has it, where that is what counts there."""
    known = snapshot.variables.get(name)
    return None if known is None or effective is None else known.value or effective


def _differs_on_a_node(seen: dict[int, str | None], snapshots: Sequence[Snapshot]) -> bool:
    by_node: dict[str, set[str | None]] = {}
    for one in snapshots:
        by_node.setdefault(one.node, set()).add(seen[id(one)])
    return any(len(values) > 1 for values in by_node.values())


def _stated(name: str, snapshots: Sequence[Snapshot]) -> Agreement:
    stated = next(one.variables[name].agreement for one in snapshots if name in one.variables)
    return cast(Agreement, stated)


def _group(
    pairs: Iterable[tuple[str, str | None]],
) -> tuple[tuple[str | None, tuple[str, ...]], ...]:
    groups: dict[str | None, list[str]] = {}
    for label, value in pairs:
        groups.setdefault(value, []).append(label)
    ordered = sorted(groups.items(), key=lambda one: (-len(one[1]), one[0] is None, one[0] or ""))
    return tuple((value, tuple(labels)) for value, labels in ordered)
