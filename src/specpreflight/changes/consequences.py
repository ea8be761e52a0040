"""What two reports say differently, as sentences, by keys that a third report can be asked for."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, Literal

from specpreflight.models.change import Consequence
from specpreflight.models.finding import Finding, Outcome, Severity
from specpreflight.models.report import Report
from specpreflight.models.resolved import ResolvedValue

#: What a difference is told by: `new`, `gone` or `changed`, a rule, its place and number; or
#: `setting` and its name.
Key = tuple[str | int, ...]

_SEVERITIES: Final = tuple(Severity)
_OUTCOMES: Final = tuple(Outcome)
_WORDS: Final = {
    Severity.ERROR: "an error",
    Severity.WARNING: "a warning",
    Severity.NOTE: "a note",
}
#: What two findings of one rule may share, the surest first.
_IDENTITIES: Final = (
    lambda finding: (finding.fingerprint, finding.message),
    lambda finding: finding.message,
    lambda finding: finding.fingerprint,
)


def compare_reports(before: Report, after: Report) -> dict[Key, Consequence]:
    """Return what the second report says differently: findings by rule, settings by name."""
    return dict(
        (
            *_compare_findings(before.findings, after.findings),
            *_compare_settings(before.resolved, after.resolved),
        )
    )


def _compare_findings(
    before: Sequence[Finding], after: Sequence[Finding]
) -> Iterator[tuple[Key, Consequence]]:
    for rule in sorted({finding.rule for finding in (*before, *after)}):
        old = [finding for finding in before if finding.rule == rule]
        new = [finding for finding in after if finding.rule == rule]
        seen: Counter[Key] = Counter()
        for one, other in _pair(old, new):
            consequence = _compare(one, other)
            if consequence is not None:
                kind = "new" if one is None else "gone" if other is None else "changed"
                shown = other or one
                assert shown is not None
                place = (kind, rule, shown.fingerprint)
                seen[place] += 1
                yield (*place, seen[place]), consequence


def _pair(
    before: list[Finding], after: list[Finding]
) -> Iterator[tuple[Finding | None, Finding | None]]:
    """Yield the findings of one rule that are the same, then those that have no counterpart."""
    for identify in _IDENTITIES:
        for one in list(before):
            other = next((each for each in after if identify(each) == identify(one)), None)
            if other is not None:
                before.remove(one)
                after.remove(other)
                yield one, other
    if len(before) == len(after) == 1:
        yield before.pop(), after.pop()
    yield from ((one, None) for one in before)
    yield from ((None, other) for other in after)


def _compare(before: Finding | None, after: Finding | None) -> Consequence | None:
    if after is None:
        assert before is not None
        is_note = before.severity is Severity.NOTE
        text = f"no longer: {before.message}" if is_note else f"no longer {_what(before)}"
        return Consequence("other" if is_note else "better", text, before.rule)
    if before is None:
        is_note = after.severity is Severity.NOTE
        text = after.message if is_note else f"now {_what(after)}"
        return Consequence("other" if is_note else "worse", text, after.rule)
    if before.severity is not after.severity:
        text = f"this was {_WORDS[_severity(before)]}, is now {_what(after)}"
        return Consequence(_direction(before, after), text, after.rule)
    if before.outcome is not after.outcome or before.stage is not after.stage:
        text = f"this was {_how(before)}, is now {_what(after)}"
        return Consequence(_direction(before, after), text, after.rule)
    if before.message != after.message:
        return Consequence("other", f"{after.message} (was: {before.message})", after.rule)
    return None


def _what(finding: Finding) -> str:
    """Return the words for a finding: `an error (crashes, draft-config): …`."""
    return f"{_WORDS[_severity(finding)]} ({_how(finding)}): {finding.message}"


def _how(finding: Finding) -> str:
    return finding.outcome.value + (f", {finding.stage.value}" if finding.stage else "")


def _severity(finding: Finding) -> Severity:
    return finding.severity or Severity.NOTE


def _direction(before: Finding, after: Finding) -> Literal["worse", "better", "other"]:
    old = (-_SEVERITIES.index(_severity(before)), _OUTCOMES.index(before.outcome))
    new = (-_SEVERITIES.index(_severity(after)), _OUTCOMES.index(after.outcome))
    return "other" if old == new else "worse" if new > old else "better"


def _compare_settings(
    before: Mapping[str, ResolvedValue], after: Mapping[str, ResolvedValue]
) -> Iterator[tuple[Key, Consequence]]:
    """Yield the settings that both know; one that an engine never came to is no consequence."""
    for name in (name for name in before if name in after):
        old, new = before[name], after[name]
        if _plain(old.value) != _plain(new.value):
            text = f"{name} {show(old.value)} → {show(new.value)} ({new.reason})"
            yield ("setting", name), Consequence("other", text)


def show(value: Any) -> str:
    """Return a value for a reader: text as it is, `not set` for none, else JSON."""
    if value is None:
        return "not set"
    if isinstance(value, str):
        return value
    return json.dumps(value, ensure_ascii=False, default=str)


def _plain(value: Any) -> Any:
    return list(value) if isinstance(value, tuple) else value
