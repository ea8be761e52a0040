"""What a rule is."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any, NamedTuple

from specpreflight.models.finding import SEVERITY_OF_OUTCOME, Finding, Remedy, Severity
from specpreflight.models.launch import Launch
from specpreflight.models.resolved import Event, Resolved

Check = Callable[[Launch, Resolved], Iterator[Finding]]


class Rule(NamedTuple):
    """One check.

    Attributes:
        name: kebab-case, reads well after "ignore".
        summary: one line for tables; the first line of the module's docstring says the same.
        since: the version of specpreflight that introduced it.
        engines: the engines it knows about; none for a rule that holds for every engine.
        needs: facts it reads (`target.config`, `draft.config`, `draft.weights`, `hardware` …); a
            missing one makes the rule `skipped`, with the reason.
        topics: the engine events it explains, by name or (with a final dot) by area; a stop that
            no rule claims goes to `engine-refuses`.
        check: the generator of findings.
    """

    name: str
    summary: str
    since: str
    check: Check
    engines: tuple[str, ...] = ("sglang",)
    needs: tuple[str, ...] = ()
    topics: tuple[str, ...] = ()

    def holds_for(self, engine: str) -> bool:
        """Return whether the rule knows about that engine."""
        return not self.engines or engine in self.engines

    def claims(self, topic: str) -> bool:
        """Return whether this rule explains events of that topic."""
        return claims_topic(self.topics, topic)

    def events(self, resolved: Resolved) -> Iterator[tuple[int, Event]]:
        """Yield `(order, event)` for the engine events that this rule explains."""
        for order, event in enumerate(resolved.events):
            if self.claims(event.topic):
                yield order, event


def claims_topic(topics: tuple[str, ...], topic: str) -> bool:
    """Return whether `topic` is one of `topics`, or in an area that one of them names."""
    return topic in topics or any(
        claimed.endswith(".") and topic.startswith(claimed) for claimed in topics
    )


def report_event(rule: Rule, order: int, event: Event, **changes: Any) -> Finding:
    """Return the finding that says what an engine event says; `changes` are fields to replace."""
    assumed = event.facts.get("assumed")
    if assumed is not None and "detail" in changes:
        changes["detail"] = f"{changes['detail']} {assumed}".strip()
    finding = Finding(
        rule=rule.name,
        outcome=event.outcome,
        stage=event.stage,
        message=event.message,
        detail=_where(event),
        engine_message=event.engine_message or event.exception,
        values=event.values,
        confidence=event.confidence,
        order=order,
    )
    return replace(finding, **changes)


def _where(event: Event) -> str:
    """Return where in the engine it is raised, what is loaded by then, and what is assumed."""
    assumed = event.facts.get("assumed", "")
    if not event.source or not event.exception:
        return str(assumed)
    loaded = event.facts.get("loaded")
    where = f"Raised by {event.source}" + (f", after {loaded} are loaded." if loaded else ".")
    return f"{where} {assumed}".strip()


def rule_of_events(
    *,
    name: str,
    summary: str,
    since: str,
    topics: tuple[str, ...],
    remedies: Mapping[str, tuple[Remedy, ...]],
    engines: tuple[str, ...] = ("sglang",),
    notes: bool = False,
) -> Rule:
    """Return a rule that reports its events as the engine words them, and has nothing to add.

    `remedies` maps a topic to its ways out. Events that do no harm are reported with `notes`.
    """

    def check(launch: Launch, resolved: Resolved) -> Iterator[Finding]:
        for order, event in rule.events(resolved):
            if notes or SEVERITY_OF_OUTCOME[event.outcome] is not Severity.NOTE:
                yield report_event(rule, order, event, remedies=remedies.get(event.topic, ()))

    rule = Rule(name, summary, since, check, engines=engines, topics=topics)
    return rule
