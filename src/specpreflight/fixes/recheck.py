"""Look at the result before it is written: fixes must bring no error, and come to an end."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence

from specpreflight.documents import Document
from specpreflight.errors import SpecpreflightError
from specpreflight.fixes.plan import FilePlan
from specpreflight.models.finding import SEVERITY_OF_OUTCOME, Edit, Finding, Severity

#: Rounds of fixing and checking after which fixes that still bring new ones are refused.
ROUNDS = 5

Check = Callable[[Sequence[Document]], Sequence[Finding]]
Plan = Callable[[Sequence[Finding], Sequence[Document]], Sequence[FilePlan]]


class FixRefused(SpecpreflightError):
    """A fix would bring a new error, or fixes would follow fixes without end (exit 1)."""

    exit_code = 1


def converge(
    documents: Sequence[Document],
    before: Sequence[Finding],
    check: Check,
    plan: Plan,
    *,
    rounds: int = ROUNDS,
) -> tuple[FilePlan, ...]:
    """Plan fixes, check the result, and plan again until there is nothing more to fix.

    Args:
        documents: the files as they were read.
        before: what the rules found in them.
        check: runs the rules on a launch whose files hold other documents.
        plan: makes plans of findings and the documents that they are about.
        rounds: how many times fixes may bring further fixes.

    Returns:
        One plan from the bytes that were read to the final ones for each file that changes.

    Raises:
        FixRefused: the result has an error that was not there before, or the last round still
            wants changes.
    """
    current = list(documents)
    findings = before
    edits: dict[str, list[Edit]] = {}
    rules: dict[str, dict[str, None]] = {}
    for _ in range(rounds):
        plans = plan(findings, current)
        if not plans:
            break
        edited = {file.document.name: file.edited for file in plans}
        for file in plans:
            edits.setdefault(file.document.name, []).extend(file.edits)
            rules.setdefault(file.document.name, {}).update(dict.fromkeys(file.rules))
        current = [edited.get(document.name, document) for document in current]
        findings = check(current)
    else:
        left = plan(findings, current)
        if left:
            pulling = {rule for file in left for rule in file.rules}
            pulling.update(rule for file in rules.values() for rule in file)
            names = ", ".join(sorted(pulling))
            raise FixRefused(
                f"not written: after {rounds} rounds {names} still want other values",
                hint="apply one of them with --select-fix RULE, and please report it",
            )
    new = new_errors(before, findings)
    if new:
        names = ", ".join(dict.fromkeys(rule for file in rules.values() for rule in file))
        raise FixRefused(
            f"not written: the fix of {names} would bring {new[0].rule}: {new[0].message}",
            hint="choose another remedy by hand",
        )
    return tuple(
        FilePlan(
            original,
            tuple(edits[original.name]),
            final.data,
            tuple(rules[original.name]),
        )
        for original, final in zip(documents, current, strict=True)
        if final.data != original.data
    )


def new_errors(before: Iterable[Finding], after: Iterable[Finding]) -> list[Finding]:
    """Return the errors of rules that have more of them than before."""
    known = Counter(finding.rule for finding in before if is_error(finding))
    new = []
    for finding in after:
        if is_error(finding):
            known[finding.rule] -= 1
            if known[finding.rule] < 0:
                new.append(finding)
    return new


def is_error(finding: Finding) -> bool:
    """Return whether a finding counts as an error."""
    severity = finding.severity or SEVERITY_OF_OUTCOME[finding.outcome]
    return finding.ignored is None and severity is Severity.ERROR
